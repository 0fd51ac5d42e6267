import { SealaneError } from '#domain';

/** A call under way. Disposed when its answer is whole. */
export interface LiveCall extends Disposable {
  /** Aborts when the caller leaves before its answer is whole, or when everything closes. */
  readonly signal: AbortSignal;
  /** The caller has left. What its call has started goes on. */
  leave(): void;
  /** Ends the call by our own will; what it has started goes on. */
  end(reason: SealaneError): void;
}

/** The calls under way on a binding, each with the signal that ends it early. */
export interface LiveCalls {
  open(): LiveCall;
  /** Ends all of them; what they started goes on. */
  closeAll(): void;
  readonly isClosing: boolean;
}

/** A reason that nobody will read. */
const LEFT = new SealaneError('unavailable', 'The caller has left.');

/** A class, because every request makes one: methods cost nothing then, and closures would. */
class OpenCall extends AbortController implements LiveCall {
  readonly #live: OpenCall[];
  /** Where it stands among the others; the last one takes its place when it goes. */
  #place: number;
  constructor(live: OpenCall[]) {
    super();
    this.#live = live;
    this.#place = live.push(this) - 1;
  }
  leave(): void {
    this[Symbol.dispose]();
    this.abort(LEFT);
  }
  end(reason: SealaneError): void {
    this.abort(reason);
  }
  [Symbol.dispose](): void {
    if (this.#place < 0) return;
    const last = this.#live.pop();
    if (last && last !== this) {
      this.#live[this.#place] = last;
      last.#place = this.#place;
    }
    this.#place = -1;
  }
}

export const createLiveCalls = (): LiveCalls => {
  const live: OpenCall[] = [];
  let isClosing = false;
  return {
    open: () => {
      const call = new OpenCall(live);
      if (isClosing) call.abort(closing());
      return call;
    },
    closeAll: () => {
      isClosing = true;
      for (const call of live.slice()) call.abort(closing());
    },
    get isClosing() {
      return isClosing;
    },
  };
};

export const closing = (): SealaneError =>
  new SealaneError('unavailable', 'The service is shutting down. What it accepted goes on: ask again in a moment.', {
    retryAfterMs: 1000,
  });
