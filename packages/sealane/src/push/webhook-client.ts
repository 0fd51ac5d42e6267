import { type TargetGuard, TargetRefused } from './target-guard.ts';

/** The outcome of a request. */
export type WebhookAnswer =
  | { readonly kind: 'answered'; readonly status: number }
  | { readonly kind: 'unanswered'; readonly why: string }
  /** The guard refused the address: nothing was sent. */
  | { readonly kind: 'refused'; readonly why: string };

export interface WebhookRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface WebhookClient {
  /** Sends one POST. It ends within the time limit; `signal` ends it earlier. */
  post(request: WebhookRequest, signal: AbortSignal): Promise<WebhookAnswer>;
  close(): void;
}

/** The client ignores the body of an answer. It reads this much of it, so that the connection can be used again. */
const ANSWER_BYTES = 64 * 1024;
const IDLE_MS = 30_000;

/**
 * Node's clients, with kept connections. With TLS they cost some megabytes, so a service without webhooks loads none.
 */
const loadClients = async () => {
  const [http, https] = await Promise.all([import('node:http'), import('node:https')]);
  const kept = { keepAlive: true, timeout: IDLE_MS, maxFreeSockets: 64 };
  return {
    http: { request: http.request, agent: new http.Agent(kept) },
    https: { request: https.request, agent: new https.Agent(kept) },
  };
};

type Attempt = WebhookAnswer | { readonly kind: 'stale' };

/** Sends plain POSTs over kept connections. A redirect is an answer like any other, and is not followed. */
export const createWebhookClient = (options: {
  readonly guard: TargetGuard;
  readonly timeoutMs: number;
}): WebhookClient => {
  const { guard, timeoutMs } = options;
  let loaded: ReturnType<typeof loadClients> | undefined;

  const attempt = async ({ url, headers, body }: WebhookRequest, signal: AbortSignal): Promise<Attempt> => {
    const target = new URL(url);
    const { request: open, agent } = (await (loaded ??= loadClients()))[
      target.protocol === 'https:' ? 'https' : 'http'
    ];
    return await new Promise((resolve) => {
      const request = open(target, {
        method: 'POST',
        agent,
        lookup: guard.lookup,
        headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) },
      });
      // The attempt is over from here on, whatever the request still reports.
      const giveUp = (why: string): void => {
        request.destroy(new Error(why));
        settle({ kind: 'unanswered', why });
      };
      const stop = (): void => giveUp('it was stopped');
      const timer = setTimeout(() => giveUp(`no answer within ${timeoutMs} ms`), timeoutMs);
      const settle = (result: Attempt): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', stop);
        resolve(result);
      };
      signal.addEventListener('abort', stop, { once: true });
      request.on('response', (response) => {
        let bytes = 0;
        response.on('data', (data: Buffer) => {
          bytes += data.length;
          if (bytes > ANSWER_BYTES) response.destroy();
        });
        response.on('error', () => undefined);
        response.on('close', () => settle({ kind: 'answered', status: response.statusCode ?? 0 }));
      });
      request.on('error', (error: NodeJS.ErrnoException) => {
        if (error instanceof TargetRefused) settle({ kind: 'refused', why: error.message });
        // The other side may close a kept connection just when it is used again. Nothing was answered on it yet: retry.
        else if (request.reusedSocket && error.code === 'ECONNRESET') settle({ kind: 'stale' });
        else settle({ kind: 'unanswered', why: error.code ?? error.message });
      });
      // Without this listener, Node ends a request that is answered with a 101 and reports nothing.
      request.on('upgrade', (response, socket) => {
        socket.destroy();
        settle({ kind: 'answered', status: response.statusCode ?? 0 });
      });
      request.end(body);
    });
  };

  return {
    post: async (request, signal) => {
      const problem = guard.check(request.url);
      if (problem !== undefined) return { kind: 'refused', why: problem };
      for (;;) {
        if (signal.aborted) return { kind: 'unanswered', why: 'it was stopped' };
        const result = await attempt(request, signal);
        if (result.kind !== 'stale') return result;
      }
    },
    close: () => {
      void loaded?.then(({ http, https }) => {
        http.agent.destroy();
        https.agent.destroy();
      });
    },
  };
};
