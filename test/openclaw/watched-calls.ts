/** When `agent` was called over any WebSocket of this process, and answered for good. */
export interface WatchedCalls {
  /** What came before and after the last of these calls, in a span of time that has it in it. */
  aroundLast(startedAt: number, endedAt: number): { readonly beforeMs: number; readonly afterMs: number };
}

interface Frame {
  readonly type: string;
  readonly id?: string;
  readonly method?: string;
  readonly payload?: { readonly status?: string };
}

/** From now on: call it before the connections are made. */
export const watchAgentCalls = (): WatchedCalls => {
  let calledAt = 0;
  let answeredAt = 0;
  const Plain = globalThis.WebSocket;
  globalThis.WebSocket = class extends Plain {
    readonly #calls = new Set<string | undefined>();

    constructor(url: string | URL) {
      super(url);
      this.addEventListener('message', ({ data }) => {
        const heardAt = performance.now();
        const { type, id, payload } = JSON.parse(String(data)) as Frame;
        if (type !== 'res' || !this.#calls.has(id) || payload?.status === 'accepted') return;
        this.#calls.delete(id);
        answeredAt = heardAt;
      });
    }

    override send(data: string): void {
      super.send(data);
      const { id, method } = JSON.parse(data) as Frame;
      if (method !== 'agent') return;
      calledAt = performance.now();
      this.#calls.add(id);
    }
  };
  return {
    aroundLast: (startedAt, endedAt) => {
      if (calledAt < startedAt || answeredAt > endedAt || answeredAt < calledAt)
        throw new Error('No call of `agent` was seen in this turn.');
      return { beforeMs: calledAt - startedAt, afterMs: endedAt - answeredAt };
    },
  };
};
