import { setTimeout as delay } from 'node:timers/promises';

import { SealaneError } from '#domain';

/** `store-locked` ends a start. From a store that is open it says that another process holds a lock for now. */
const PASSING: ReadonlySet<string> = new Set(['storage-full', 'unavailable', 'store-unwritable', 'store-locked']);

/** What goes away by itself, like a full disk or a database that is away; anything else is a bug, or the caller's fault. */
export const isPassing = (error: unknown): boolean => error instanceof SealaneError && PASSING.has(error.code);

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;

export interface Insistence {
  /** Ends the retries. */
  readonly signal: AbortSignal;
  /** After so long it is given up; without it, never. */
  readonly withinMs?: number;
  readonly onProblem: (error: unknown, tried: number) => void;
}

/** Does again what the store cannot do for now, until it can. Throws anything else, and what does not go away in time. */
export const insist = async <T>(
  attempt: () => Promise<T>,
  { signal, withinMs = Infinity, onProblem }: Insistence,
): Promise<T> => {
  const beganAt = performance.now();
  let pauseMs = FIRST_PAUSE_MS;
  for (let tried = 1; ; tried += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (signal.aborted || !isPassing(error) || performance.now() - beganAt > withinMs) throw error;
      onProblem(error, tried);
      await delay(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    }
  }
};
