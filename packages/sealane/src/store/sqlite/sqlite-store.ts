import { dirname } from 'node:path';

import { makePrivateFolder } from '../private-folder.ts';
import { createStepStorage, type Driver } from '../step-storage.ts';
import { OWED_WORD } from '../steps/step.ts';
import type { Storage } from '../storage.ts';
import type { TaskId } from '../task-store.ts';
import { createCallGatherer } from './gather-calls.ts';
import { createLockPatience, isLockTaken } from './lock-patience.ts';
import { settle, startThread } from './sqlite-thread.ts';
import type { WorkerReply } from './worker-messages.ts';

export interface SqliteStoreOptions {
  /** A file, made if it is missing, or `:memory:`. */
  readonly file: string;
  /** Only the durability tests choose anything but FULL. */
  readonly synchronous?: 'FULL' | 'NORMAL' | 'OFF';
  /** How long a call waits for a lock that another process holds. */
  readonly lockMs?: number;
  /** How large the heap of the store's thread may grow, in MiB. Only tests set it. */
  readonly heapMb?: number;
}

/** Pages given back to the disk at once: a few milliseconds of work. */
const VACUUM_PAGES = 500;

/** One file, one process: WAL, synced before every answer, all in one thread beside the event loop. */
export const openSqlite = async ({
  file,
  synchronous = 'FULL',
  lockMs = 5000,
  heapMb,
}: SqliteStoreOptions): Promise<Storage> => {
  const inMemory = file === ':memory:';
  if (!inMemory) makePrivateFolder(dirname(file));
  const wakeListeners = new Set<(ids: readonly TaskId[]) => void>();
  const owedListeners = new Set<() => void>();
  const commitListeners = new Set<(durationMs: number) => void>();
  const fatalListeners = new Set<(error: Error) => void>();
  const onReply = ({ wakes, commitMs }: WorkerReply): void => {
    if (commitMs !== null) for (const listener of commitListeners) listener(commitMs);
    // There are no other instances. A lane that became ready is the only news for the listeners here.
    if (wakes.includes('')) setImmediate(() => wakeListeners.forEach((listener) => listener([])));
    if (wakes.includes(OWED_WORD)) setImmediate(() => owedListeners.forEach((listener) => listener()));
  };
  const onDeath = (error: Error): void => fatalListeners.forEach((listener) => listener(error));
  const options = { role: 'writer', file, synchronous, ...(heapMb !== undefined && { heapMb }) } as const;
  const thread = await startThread(options, { onReply, onDeath });
  const call = createCallGatherer((calls) => thread.post(calls));
  const patience = createLockPatience(call, lockMs);

  const driver: Driver = {
    description: inMemory ? 'memory (lost when the service stops)' : `SQLite, ${file}`,
    notices: thread.notices,
    exclusive: true,
    write: (name, ...args) => patience.write([name, args]) as Promise<never>,
    read: (name, ...args) => call([name, args]) as Promise<never>,
    check: async () => {
      try {
        settle((await thread.call([['check', []]]))[0]);
        return undefined;
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      }
    },
    compact: async () => {
      try {
        settle((await thread.call([['vacuum', [VACUUM_PAGES]]]))[0]);
      } catch (error) {
        // A later call gives the pages back.
        if (!isLockTaken(error)) throw error;
      }
    },
    ...(!inMemory && {
      // Copying takes longer for a larger file, so it has a connection and a thread of its own.
      backup: async (target: string) => {
        settle((await thread.call([['flush', []]]))[0]);
        const reader = await startThread({ role: 'reader', file, synchronous });
        try {
          settle((await reader.call([['backup', [target]]]))[0]);
        } finally {
          await reader.stop();
        }
      },
    }),
    onWake: (listener) => subscribe(wakeListeners, listener),
    onOwed: (listener) => subscribe(owedListeners, listener),
    onCommit: (listener) => subscribe(commitListeners, listener),
    onFatal: (listener) => subscribe(fatalListeners, listener),
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
