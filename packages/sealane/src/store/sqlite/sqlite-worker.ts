import type { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

import { SealaneError } from '#domain';

import { READS, WRITES } from '../steps/index.ts';
import type { Steps } from '../steps/step.ts';
import { createDiskReserve } from './disk-reserve.ts';
import {
  createStepRunner,
  openForReading,
  openForWriting,
  sqliteError,
  type SqliteOptions,
} from './sqlite-database.ts';
import { type FileLock, lockFile } from './sqlite-lock.ts';

/**
 * The thread that owns a connection. It executes batches of steps, each batch in one transaction, so that many callers
 * share one sync of the disk; the service's event loop never waits for a disk. Reads come in between, one transaction
 * each. A `reader` is a second thread that copies the database. Requests and replies cross as JSON text, which costs a quarter of a
 * structured clone.
 */
export type WorkerRequest = readonly (readonly [name: string, args: readonly unknown[]])[];
/** One for each request, in their order. */
export interface WorkerReply {
  readonly outcomes: readonly Outcome[];
  readonly wakes: readonly string[];
  readonly commitMs: number;
}
export type Outcome =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: PlainError };
export interface PlainError {
  readonly code: string | undefined;
  readonly message: string;
  readonly stack: string | undefined;
  readonly facts: Readonly<Record<string, string>>;
  readonly retryAfterMs: number | undefined;
}
export interface WorkerOptions extends SqliteOptions {
  readonly role: 'writer' | 'reader';
}

const options = workerData as WorkerOptions;
const port = parentPort;
if (!port) throw new Error('This file is a worker; open the store with openSqlite().');

const plain = (thrown: unknown): PlainError => {
  const error = sqliteError(thrown, options.file);
  const known = error instanceof SealaneError ? error : undefined;
  return {
    code: known?.code,
    message: error instanceof Error ? error.message : String(error),
    stack: error instanceof Error ? error.stack : undefined,
    facts: known?.facts ?? {},
    retryAfterMs: known?.retryAfterMs,
  };
};

const stepsOf = (name: string, args: readonly unknown[]): Steps<unknown> => {
  const step = { ...WRITES, ...READS }[name as keyof typeof WRITES] as (...args: readonly unknown[]) => Steps<unknown>;
  return step(...args);
};

const serve = (database: DatabaseSync, lock: FileLock | undefined): void => {
  const run = createStepRunner(database);
  const reserve = createDiskReserve(options.file);

  const transaction = (calls: WorkerRequest, wakes: Set<string>): Outcome[] => {
    const isRead = calls.every(([name]) => name in READS);
    database.exec(isRead ? 'BEGIN' : 'BEGIN IMMEDIATE');
    try {
      const outcomes = calls.map(([name, args]): Outcome => {
        const refusal = reserve.refusalOf(name);
        return refusal ? { ok: false, error: plain(refusal) } : { ok: true, value: run(stepsOf(name, args), wakes) };
      });
      database.exec('COMMIT');
      return outcomes;
    } catch (error) {
      wakes.clear();
      if (database.isTransaction) database.exec('ROLLBACK');
      throw error;
    }
  };

  /** One bad call must not fail its neighbours: if the batch fails, each call gets a transaction of its own. */
  const perform = (calls: WorkerRequest, wakes: Set<string>): Outcome[] => {
    try {
      return transaction(calls, wakes);
    } catch (error) {
      if (calls.length === 1) return [{ ok: false, error: plain(error) }];
      return calls.flatMap((call) => {
        const own = new Set<string>();
        const outcome = perform([call], own);
        for (const id of own) wakes.add(id);
        return outcome;
      });
    }
  };

  /** What is in the log twice takes room that those who still work need. */
  let shrunkAt = -Infinity;
  const shrink = (): void => {
    if (performance.now() - shrunkAt < 1000) return;
    shrunkAt = performance.now();
    try {
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // There may be no room even for that; the next try comes in a second.
    }
  };

  const SPECIAL: Record<string, (...args: never[]) => unknown> = {
    backup: (file: string) => database.prepare('VACUUM INTO ?').run(file),
    vacuum: (pages: number) => database.exec(`PRAGMA incremental_vacuum(${pages})`),
    check: () => {
      const refusal = reserve.refusalOf('admit');
      if (refusal) throw refusal;
      database.exec('BEGIN IMMEDIATE; ROLLBACK');
    },
    close: () => {
      if (options.role === 'writer') database.exec('PRAGMA optimize');
      database.close();
      lock?.release();
    },
  };

  port.on('message', (request: string) => {
    const calls = JSON.parse(request) as WorkerRequest;
    const started = performance.now();
    const wakes = new Set<string>();
    const [first] = calls;
    const special = first && SPECIAL[first[0]];
    let outcomes: Outcome[];
    if (first && special) {
      try {
        outcomes = [{ ok: true, value: special(...(first[1] as never[])) }];
      } catch (error) {
        outcomes = [{ ok: false, error: plain(error) }];
      }
    } else outcomes = perform(calls, wakes);
    if (reserve.isTight) shrink();
    const reply: WorkerReply = { outcomes, wakes: [...wakes], commitMs: performance.now() - started };
    port.postMessage(JSON.stringify(reply));
    if (first?.[0] === 'close') port.close();
  });
};

try {
  const lock = options.role === 'writer' && options.file !== ':memory:' ? lockFile(options.file) : undefined;
  serve(options.role === 'writer' ? openForWriting(options) : openForReading(options.file), lock);
  port.postMessage(
    JSON.stringify({ outcomes: [{ ok: true, value: 'ready' }], wakes: [], commitMs: 0 } satisfies WorkerReply),
  );
} catch (error) {
  port.postMessage(
    JSON.stringify({
      outcomes: [{ ok: false, error: plain(error) }],
      wakes: [],
      commitMs: 0,
    } satisfies WorkerReply),
  );
}
