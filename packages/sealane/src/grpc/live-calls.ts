import { SealaneError } from '#domain';

/** What of a call of gRPC tells that its caller has left. */
export interface Leaving {
  readonly cancelled: boolean;
  on(event: 'cancelled', listener: () => void): unknown;
}

export interface LiveCall extends Disposable {
  /** Aborts when the caller leaves before its answer is whole, or when everything closes. */
  readonly signal: AbortSignal;
}

/** The calls under way, each with the signal that ends it early. What a call has started goes on. */
export interface LiveCalls {
  open(call: Leaving): LiveCall;
  closeAll(): void;
  readonly isClosing: boolean;
}

/** A reason that nobody will read. */
const LEFT = new SealaneError('unavailable', 'The caller has left.');

export const createLiveCalls = (): LiveCalls => {
  const live = new Set<AbortController>();
  let isClosing = false;
  return {
    open: (call) => {
      const controller = new AbortController();
      if (call.cancelled) controller.abort(LEFT);
      else if (isClosing) controller.abort(closing());
      live.add(controller);
      const dispose = (): void => void live.delete(controller);
      // Also told of a call that has been answered: by then nobody listens to its signal.
      call.on('cancelled', () => {
        dispose();
        controller.abort(LEFT);
      });
      return { signal: controller.signal, [Symbol.dispose]: dispose };
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
