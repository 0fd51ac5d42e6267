import type { ServerResponse } from 'node:http';

import { SealaneError } from '#domain';

/** The calls under way, each with the signal that ends it early. */
export interface LiveCalls {
  /** A signal that aborts when the caller leaves before its answer is whole, or when everything closes. */
  open(response: ServerResponse): AbortSignal;
  /** Ends all of them; what they started goes on. */
  closeAll(): void;
  readonly isClosing: boolean;
}

/** A reason that nobody will read: the caller has left. */
const LEFT = new SealaneError('unavailable', 'The caller has left.');

export const createLiveCalls = (): LiveCalls => {
  const live = new Set<AbortController>();
  let isClosing = false;
  return {
    open: (response) => {
      const controller = new AbortController();
      live.add(controller);
      response.once('close', () => {
        live.delete(controller);
        if (!response.writableFinished) controller.abort(LEFT);
      });
      return controller.signal;
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
