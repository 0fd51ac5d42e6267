import { statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

import { SealaneError } from '#domain';

/** Space that is kept for accepted work: ends, cancels, events of running tasks. */
const RESERVE_BYTES = 16 * 1024 * 1024;
/** On a small disk, a twentieth of it. */
const RESERVE_SHARE = 0.05;
const LOOK_EVERY_MS = 200;

/** The steps that add something new. All other steps finish or remove what is there. */
const NEWCOMERS = new Set(['admit', 'follow', 'put']);

export interface DiskReserve {
  /** True while newcomers are refused. */
  readonly isTight: boolean;
  /** Why a step of this name is refused now. Undefined: it is not. */
  refusalOf(name: string): SealaneError | undefined;
  /** Throws if another file has the name now. For code that opens the file by its name. */
  requireInPlace(): void;
}

/** Identifies the file that has this name now. */
const identityOf = (file: string): string | undefined => {
  const facts = statSync(file, { bigint: true, throwIfNoEntry: false });
  return facts && `${facts.dev}:${facts.ino}`;
};

const moved = (file: string): SealaneError =>
  new SealaneError(
    'store-unwritable',
    `The database ${file} was removed or replaced while the service runs, so it takes no new tasks: they would be lost. ` +
      'Put the file back, or stop the service, restore a backup with `sealane restore FILE`, and start it again.',
  );

const fullness = (folder: string): SealaneError | undefined => {
  const { bavail, blocks, bsize } = statfsSync(folder);
  const isFull = bavail * bsize < Math.min(RESERVE_BYTES, blocks * bsize * RESERVE_SHARE);
  return isFull
    ? new SealaneError(
        'storage-full',
        'The disk of this service is full or nearly full, so it takes no new tasks until there is room. Nothing accepted ' +
          'is lost; reads go on, and so do running tasks and cancels while what is left of it lasts.',
        { retryAfterMs: 30_000 },
      )
    : undefined;
};

/**
 * Refuses newcomers while the disk is nearly full, so that a full disk never keeps a task from ending. Refuses them
 * also while the database is not in its place: a deleted file can still be written, and is lost when the service ends.
 */
export const createDiskReserve = (file: string): DiskReserve => {
  const opened = file === ':memory:' ? undefined : identityOf(file);
  let lookedAt = -Infinity;
  let refusal: SealaneError | undefined;
  const look = (): void => {
    refusal = identityOf(file) === opened ? fullness(dirname(file)) : moved(file);
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
    requireInPlace: () => {
      if (opened !== undefined && identityOf(file) !== opened) throw moved(file);
    },
  };
};
