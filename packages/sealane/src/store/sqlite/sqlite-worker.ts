import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

import { SealaneError } from '#domain';

import { READS, WRITES } from '../steps/index.ts';
import type { Steps } from '../steps/step.ts';
import { answerRequests } from './answer-requests.ts';
import { createDiskReserve } from './disk-reserve.ts';
import { type Clock, ownRedo } from './redo.ts';
import { openForReading, openForWriting, type SqliteOptions } from './sqlite-database.ts';
import { isLockedOut, lockedMeanwhile, sqliteError } from './sqlite-error.ts';
import { type FileLock, lockFile } from './sqlite-lock.ts';
import { createSqliteWriter } from './sqlite-writer.ts';
import { type Outcome, type PlainError, plainError, replyOf, textOf, type WorkerRequest } from './worker-messages.ts';

/**
 * The thread that owns a connection. It executes batches of steps, so that many callers share one sync of the disk. The
 * event loop of the service never waits for a disk. Reads come in between. A `reader` is a second thread that copies
 * the database.
 */
export interface WorkerOptions extends SqliteOptions {
  readonly role: 'writer' | 'reader';
  /** How large the heap of the thread may grow. By default, Node decides. */
  readonly heapMb?: number;
}

const options = workerData as WorkerOptions;
const port = parentPort;
if (!port) throw new Error('This file is a worker; open the store with openSqlite().');

let isOpen = false;
const plain = (thrown: unknown): PlainError =>
  plainError(isOpen && isLockedOut(thrown) ? lockedMeanwhile(options.file, thrown) : thrown, options.file);

const STEPS = { ...WRITES, ...READS } as unknown as Readonly<
  Record<string, (...args: readonly unknown[]) => Steps<unknown>>
>;
const stepsOf = (name: string, args: readonly unknown[]): Steps<unknown> => {
  const step = STEPS[name];
  if (!step) throw new Error(`The store has no step "${name}".`);
  return step(...args);
};

const isRead = (calls: WorkerRequest): boolean => calls.every(([name]) => name in READS);

/** A batch ends early when its outcomes are this long, because many calls may ask for much at the same moment. */
const REPLY_LENGTH = 4 * 1024 * 1024;

/**
 * Executes the first of these calls, at least one, until their outcomes fill a reply. These calls share one commit:
 * they become durable together or not at all.
 */
const doAll = (
  calls: WorkerRequest,
  run: <T>(steps: Steps<T>) => T,
  refusalOf: (name: string) => SealaneError | undefined,
): string[] => {
  const texts: string[] = [];
  let length = 0;
  for (const [name, args] of calls) {
    const refusal = refusalOf(name);
    const text = textOf(refusal ? { ok: false, error: plain(refusal) } : { ok: true, value: run(stepsOf(name, args)) });
    texts.push(text);
    length += text.length;
    if (length > REPLY_LENGTH) break;
  }
  return texts;
};

/** The full disk may be another one than the database's. */
const copyError = (cause: unknown, target: string): unknown => {
  const error = sqliteError(cause, options.file);
  if (!(cause instanceof Error && error instanceof SealaneError && error.code === 'storage-full')) return error;
  return new SealaneError(
    'storage-full',
    `The copy cannot be written to ${dirname(target)}, where a running service makes it first (${cause.message}). ` +
      'Free some space there, or start the service with TMPDIR set to a folder that has room.',
    { cause },
  );
};

const serveReader = (database: DatabaseSync): void =>
  answerRequests(
    port,
    {
      backup: (target: string) => {
        try {
          database.prepare('VACUUM INTO ?').run(target);
        } catch (error) {
          throw copyError(error, target);
        }
        const copy = new DatabaseSync(target);
        ownRedo(copy, '');
        copy.close();
      },
      close: () => database.close(),
    },
    plain,
  );

const serveWriter = (database: DatabaseSync, clock: Clock, lock: FileLock | undefined): void => {
  const writer = createSqliteWriter(database, options, clock);
  const reserve = createDiskReserve(options.file);

  const performTogether = (calls: WorkerRequest, wakes: Set<string>): string[] => {
    if (isRead(calls)) return writer.look((run) => doAll(calls, run, () => undefined));
    const own = new Set<string>();
    const texts = writer.perform((run) => doAll(calls, run, (name) => reserve.refusalOf(name)), own);
    for (const id of own) wakes.add(id);
    return texts;
  };

  /**
   * Each call in a batch of its own. While another process holds the lock, only the first call waits for it: the others
   * would wait as long, one after the other. Reads need no lock.
   */
  const performOneByOne = (calls: WorkerRequest, wakes: Set<string>, thrown: unknown): string[] => {
    let lockedOut = isLockedOut(thrown) ? thrown : undefined;
    return calls.flatMap((call) => {
      if (lockedOut && !isRead([call])) return textOf({ ok: false, error: plain(lockedOut) });
      try {
        return performTogether([call], wakes);
      } catch (error) {
        if (isLockedOut(error)) lockedOut = error;
        return textOf({ ok: false, error: plain(error) });
      }
    });
  };

  /** One bad call must not fail the others: if a batch fails, each of its calls gets a batch of its own. */
  const perform = (calls: WorkerRequest, wakes: Set<string>): string[] => {
    try {
      return performTogether(calls, wakes);
    } catch (error) {
      if (calls.length === 1) return [textOf({ ok: false, error: plain(error) })];
      return performOneByOne(calls, wakes, error);
    }
  };

  /** Pages that are both in SQLite's log and in the database take room that running tasks need. */
  let shrunkAt = -Infinity;
  const shrink = (): void => {
    if (performance.now() - shrunkAt < 1000) return;
    shrunkAt = performance.now();
    try {
      writer.flush();
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // There may be no room even for that; the next try comes in a second.
    }
  };

  answerRequests(
    port,
    {
      flush: () => {
        reserve.requireInPlace();
        writer.flush();
      },
      vacuum: (pages: number) => {
        writer.flush();
        database.exec(`PRAGMA incremental_vacuum(${pages})`);
      },
      check: () => {
        // Tests a write first: a database that cannot be written is worse than a disk with little room.
        writer.flush();
        database.exec('BEGIN IMMEDIATE; ROLLBACK');
        const refusal = reserve.refusalOf('admit');
        if (refusal) throw refusal;
      },
      close: () => {
        try {
          writer.close();
        } finally {
          database.close();
          lock?.release();
        }
      },
    },
    plain,
    {
      isRead,
      perform: (calls, wakes) => {
        const texts = perform(calls, wakes);
        if (reserve.isTight) shrink();
        return texts;
      },
    },
  );
};

const start = (): void => {
  if (options.role === 'reader') return serveReader(openForReading(options.file));
  const lock = options.file === ':memory:' ? undefined : lockFile(options.file);
  const clock = { now: Date.now() };
  serveWriter(
    openForWriting(options, clock, (text) => notices.push(text)),
    clock,
    lock,
  );
};

/** What the operator should know about the opening of the database. */
const notices: string[] = [];
let opened: Outcome;
try {
  start();
  isOpen = true;
  opened = { ok: true, value: notices };
} catch (error) {
  opened = { ok: false, error: plain(error) };
}
port.postMessage(replyOf([textOf(opened)]));
