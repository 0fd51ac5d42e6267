import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';

import { SealaneError } from '#domain';

/** Room that is kept for what has been accepted already: ends, cancels, events of running tasks. */
const RESERVE_BYTES = 16 * 1024 * 1024;
/** On a small disk, a twentieth of it. */
const RESERVE_SHARE = 0.05;
const LOOK_EVERY_MS = 200;

/** What makes the database grow by something new; everything else finishes or removes what is there. */
const NEWCOMERS = new Set(['admit', 'follow', 'put']);

export interface DiskReserve {
  /** True while newcomers are refused. */
  readonly isTight: boolean;
  /** Why a step of this name must not be done now. */
  refusalOf(name: string): SealaneError | undefined;
}

/** Refuses newcomers while the disk is nearly full, so that a full disk never keeps a task from ending. */
export const createDiskReserve = (file: string): DiskReserve => {
  let lookedAt = -Infinity;
  let refusal: SealaneError | undefined;
  const look = (): void => {
    const { bavail, blocks, bsize } = statfsSync(dirname(file));
    const isFull = bavail * bsize < Math.min(RESERVE_BYTES, blocks * bsize * RESERVE_SHARE);
    refusal = isFull
      ? new SealaneError(
          'storage-full',
          'The disk of this service is nearly full, so it takes no new tasks until there is room. Nothing accepted is ' +
            'lost; running tasks, reads and cancels go on.',
          { retryAfterMs: 30_000 },
        )
      : undefined;
  };
  return {
    get isTight() {
      return refusal !== undefined;
    },
    refusalOf: (name) => {
      if (file === ':memory:' || !NEWCOMERS.has(name)) return undefined;
      const now = performance.now();
      if (now - lookedAt > LOOK_EVERY_MS) {
        lookedAt = now;
        look();
      }
      return refusal;
    },
  };
};
