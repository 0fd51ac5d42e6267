import { setTimeout as delay } from 'node:timers/promises';

import { SealaneError } from '#domain';

/** Tries again what the store could not do for now; throws anything else, and what does not go away in time. */
export type Insist = <T>(attempt: () => Promise<T>) => Promise<T>;

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;

/** What goes away by itself: a database that is away, a disk that is full. */
export const isPassing = (error: unknown): boolean =>
  error instanceof SealaneError && (error.code === 'unavailable' || error.code === 'storage-full');

/**
 * A claim that was given up would hold until its lease is over, and its webhook would hear nothing for that long. Who
 * insists knows what was told, so nothing is told twice.
 */
export const createInsist =
  (options: {
    /** Shorter than a claim holds. */
    readonly withinMs: number;
    readonly signal: AbortSignal;
    readonly onProblem: (error: unknown) => void;
  }): Insist =>
  async (attempt) => {
    const { withinMs, signal, onProblem } = options;
    const beganAt = performance.now();
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      try {
        return await attempt();
      } catch (error) {
        if (signal.aborted || !isPassing(error) || performance.now() - beganAt > withinMs) throw error;
        // Said once: there may be many of us, and the store may be away for long.
        if (pauseMs === FIRST_PAUSE_MS) onProblem(error);
        await delay(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
      }
    }
  };
