import { setTimeout as delay } from 'node:timers/promises';

import { SealaneError } from '#domain';

/** True: another process held the lock of the database, so the call has written nothing and can be repeated. */
export const isLockTaken = (error: unknown): boolean =>
  error instanceof SealaneError && error.facts['lock'] === 'taken';

export interface LockPatience<C> {
  /**
   * Sends the call, and repeats it while another process holds the lock. Rejects with that error when `patienceMs` is
   * over.
   */
  write(call: C): Promise<unknown>;
}

/** How long to wait between two attempts. Reads have the store's thread for themselves in this time. */
const PAUSE_MS = 100;

interface Waiting<C> {
  readonly call: C;
  readonly since: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Repeats writes that came while another process held the lock of the database. The store's thread waits for the lock
 * only for a moment, because reads wait with it. So the calls wait here, beside the event loop's other work. Calls that
 * come in that time queue up behind the ones that wait, so that all keep their order.
 */
export const createLockPatience = <C>(send: (call: C) => Promise<unknown>, patienceMs: number): LockPatience<C> => {
  let queue: Waiting<C>[] = [];
  let isWaiting = false;

  /** Settles the call, or answers it if it has to wait longer. */
  const tryAgain = async (waiting: Waiting<C>): Promise<Waiting<C>[]> => {
    try {
      waiting.resolve(await send(waiting.call));
    } catch (error) {
      if (isLockTaken(error) && performance.now() - waiting.since < patienceMs) return [waiting];
      waiting.reject(error);
    }
    return [];
  };

  const waitForLock = async (): Promise<void> => {
    isWaiting = true;
    while (queue.length > 0) {
      await delay(PAUSE_MS);
      const round = queue;
      queue = [];
      const left = await Promise.all(round.map(tryAgain));
      queue = [...left.flat(), ...queue];
    }
    isWaiting = false;
  };

  const enqueue = (call: C): Promise<unknown> =>
    new Promise((resolve, reject) => {
      queue.push({ call, since: performance.now(), resolve, reject });
      if (!isWaiting) void waitForLock();
    });

  return {
    write: (call) =>
      isWaiting
        ? enqueue(call)
        : send(call).catch((error: unknown) => {
            if (isLockTaken(error)) return enqueue(call);
            throw error;
          }),
  };
};
