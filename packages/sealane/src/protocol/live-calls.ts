import { SealaneError } from '#domain';

/** A call under way. Disposed when its answer is whole. */
export interface LiveCall extends Disposable {
  /** Aborts when the caller leaves before its answer is whole, or when everything closes. */
  readonly signal: AbortSignal;
  /** The caller has left. What its call has started goes on. */
  leave(): void;
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

export const createLiveCalls = (): LiveCalls => {
  const live = new Set<AbortController>();
  let isClosing = false;
  return {
    open: () => {
      const controller = new AbortController();
      if (isClosing) controller.abort(closing());
      live.add(controller);
      return {
        signal: controller.signal,
        leave: () => {
          live.delete(controller);
          controller.abort(LEFT);
        },
        [Symbol.dispose]: () => live.delete(controller),
      };
    },
    closeAll: () => {
      isClosing = true;
      for (const controller of live) controller.abort(closing());
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
