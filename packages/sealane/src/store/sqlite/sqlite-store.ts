import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { setImmediate as immediate } from 'node:timers/promises';

import { SealaneError } from '#domain';

import { createStepStorage, type Driver } from '../step-storage.ts';
import type { Storage } from '../storage.ts';
import type { TaskId } from '../task-store.ts';
import { settle, startThread } from './sqlite-thread.ts';

export interface SqliteStoreOptions {
  /** A file, made if it is missing, or `:memory:`. */
  readonly file: string;
  /** Only the durability tests choose anything but FULL. */
  readonly synchronous?: 'FULL' | 'NORMAL' | 'OFF';
}

/** How many calls go into one transaction at most, so that no caller waits for an endless batch. */
const BATCH = 512;

/** Pages given back to the disk at once: a few milliseconds of work. */
const VACUUM_PAGES = 500;

/** One file, one process: WAL, synced at every commit, all in one thread beside the event loop. */
export const openSqlite = async ({ file, synchronous = 'FULL' }: SqliteStoreOptions): Promise<Storage> => {
  const inMemory = file === ':memory:';
  if (!inMemory) makeFolder(file);
  const thread = await startThread({ role: 'writer', file, synchronous });

  const wakeListeners = new Set<(ids: readonly TaskId[]) => void>();
  const commitListeners = new Set<(durationMs: number) => void>();
  interface Queued {
    readonly call: readonly [string, readonly unknown[]];
    readonly resolve: (value: unknown) => void;
    readonly reject: (error: unknown) => void;
  }
  let queue: Queued[] = [];
  let isBusy = false;

  /** Self-clocking: whatever comes in while one batch is on its way to the disk makes up the next. */
  const flush = async (): Promise<void> => {
    while (queue.length > 0) {
      const batch = queue.length > BATCH ? queue.splice(0, BATCH) : queue;
      if (batch === queue) queue = [];
      try {
        const { outcomes, wakes, commitMs } = await thread.call(batch.map(({ call }) => call));
        for (const listener of commitListeners) listener(commitMs);
        for (const [index, { resolve, reject }] of batch.entries()) {
          try {
            resolve(settle(outcomes[index]));
          } catch (error) {
            reject(error);
          }
        }
        // There are no other instances; only a lane that became ready is news to anybody here.
        if (wakes.includes('')) for (const listener of wakeListeners) listener([]);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
      // Those who were just answered often have something to write next: let them, and all else that has arrived.
      await immediate();
    }
    isBusy = false;
  };

  const write = (call: Queued['call']): Promise<unknown> =>
    new Promise((resolve, reject) => {
      queue.push({ call, resolve, reject });
      if (isBusy) return;
      isBusy = true;
      // Everything that one turn of the event loop brings goes into one commit.
      setImmediate(() => void flush());
    });

  const driver: Driver = {
    description: inMemory ? 'memory (lost when the service stops)' : `SQLite, ${file}`,
    exclusive: true,
    write: (name, ...args) => write([name, args]) as never,
    read: async (name, ...args) => settle((await thread.call([[name, args]])).outcomes[0]) as never,
    check: async () => {
      try {
        settle((await thread.call([['check', []]])).outcomes[0]);
        return undefined;
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      }
    },
    compact: async () => {
      settle((await thread.call([['vacuum', [VACUUM_PAGES]]])).outcomes[0]);
    },
    ...(!inMemory && {
      // Copying takes as long as the file is big, so it gets a connection and a thread of its own.
      backup: async (target: string) => {
        const reader = await startThread({ role: 'reader', file, synchronous });
        try {
          settle((await reader.call([['backup', [target]]])).outcomes[0]);
        } finally {
          await reader.stop();
        }
      },
    }),
    onWake: (listener) => subscribe(wakeListeners, listener),
    onCommit: (listener) => subscribe(commitListeners, listener),
    close: async () => {
      await thread.stop();
    },
  };
  return createStepStorage(driver);
};

const subscribe = <T>(listeners: Set<T>, listener: T): Disposable => {
  listeners.add(listener);
  return { [Symbol.dispose]: () => listeners.delete(listener) };
};

const makeFolder = (file: string): void => {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new SealaneError(
      'store-unwritable',
      `Sealane cannot make the folder ${dirname(file)}. Make it yourself, or choose another with --data-dir.`,
      { cause },
    );
  }
};
