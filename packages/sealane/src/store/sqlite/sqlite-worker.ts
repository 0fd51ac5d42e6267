import { DatabaseSync } from 'node:sqlite';
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';

import { SealaneError } from '#domain';

import { READS, WRITES } from '../steps/index.ts';
import type { Steps } from '../steps/step.ts';
import { createDiskReserve } from './disk-reserve.ts';
import { type Clock, ownRedo } from './redo.ts';
import { openForReading, openForWriting, sqliteError, type SqliteOptions } from './sqlite-database.ts';
import { type FileLock, lockFile } from './sqlite-lock.ts';
import { createSqliteWriter } from './sqlite-writer.ts';

/**
 * The thread that owns a connection. It executes batches of steps, so that many callers share one sync of the disk; the
 * service's event loop never waits for a disk. Reads come in between. A `reader` is a second thread that copies the
 * database. Requests and replies cross as JSON text, which costs a quarter of a structured clone.
 */
export type WorkerRequest = readonly (readonly [name: string, args: readonly unknown[]])[];
/** To one request or to several at once, in their order. */
export interface WorkerReply {
  readonly outcomes: readonly Outcome[];
  readonly wakes: readonly string[];
  /** How long it took until everything was durable; null: nothing had to be. */
  readonly commitMs: number | null;
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

const STEPS = { ...WRITES, ...READS } as unknown as Readonly<
  Record<string, (...args: readonly unknown[]) => Steps<unknown>>
>;
const stepsOf = (name: string, args: readonly unknown[]): Steps<unknown> => {
  const step = STEPS[name];
  if (!step) throw new Error(`The store has no step "${name}".`);
  return step(...args);
};

const isRead = (calls: WorkerRequest): boolean => calls.every(([name]) => name in READS);

/** Several calls in one batch share its durability, and its fate. */
const doAll = (
  calls: WorkerRequest,
  run: <T>(steps: Steps<T>) => T,
  refusalOf: (name: string) => SealaneError | undefined,
): Outcome[] =>
  calls.map(([name, args]): Outcome => {
    const refusal = refusalOf(name);
    return refusal ? { ok: false, error: plain(refusal) } : { ok: true, value: run(stepsOf(name, args)) };
  });

const serveReader = (database: DatabaseSync): void =>
  answer({
    backup: (target: string) => {
      database.prepare('VACUUM INTO ?').run(target);
      const copy = new DatabaseSync(target);
      ownRedo(copy, '');
      copy.close();
    },
    close: () => database.close(),
  });

const serveWriter = (database: DatabaseSync, clock: Clock, lock: FileLock | undefined): void => {
  const writer = createSqliteWriter(database, options, clock);
  const reserve = createDiskReserve(options.file);

  /** One bad call must not fail its neighbours: if the batch fails, each call gets one of its own. */
  const perform = (calls: WorkerRequest, wakes: Set<string>): Outcome[] => {
    try {
      if (isRead(calls)) return writer.look((run) => doAll(calls, run, () => undefined));
      const own = new Set<string>();
      const outcomes = writer.perform((run) => doAll(calls, run, (name) => reserve.refusalOf(name)), own);
      for (const id of own) wakes.add(id);
      return outcomes;
    } catch (error) {
      if (calls.length === 1) return [{ ok: false, error: plain(error) }];
      return calls.flatMap((call) => perform([call], wakes));
    }
  };

  /** What is in the log of SQLite twice takes room that those who still work need. */
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

  answer(
    {
      flush: () => writer.flush(),
      vacuum: (pages: number) => {
        writer.flush();
        database.exec(`PRAGMA incremental_vacuum(${pages})`);
      },
      check: () => {
        const refusal = reserve.refusalOf('admit');
        if (refusal) throw refusal;
        writer.flush();
        database.exec('BEGIN IMMEDIATE; ROLLBACK');
      },
      close: () => {
        try {
          writer.close();
          database.exec('PRAGMA optimize');
        } finally {
          database.close();
          lock?.release();
        }
      },
    },
    (calls, wakes) => {
      const outcomes = perform(calls, wakes);
      if (reserve.isTight) shrink();
      return outcomes;
    },
  );
};

/** So many calls are done at once at most, so that no caller waits for an endless batch. */
const LARGEST = 512;

/** The next request, if it is there already. */
const nextRequest = (): WorkerRequest | undefined => {
  const received = receiveMessageOnPort(port);
  return received && (JSON.parse(received.message) as WorkerRequest);
};

/**
 * Answers every request: a special one by its name, others by `perform`, all that have come in meanwhile at once: they
 * share one sync of the disk and one answer.
 */
const answer = (
  special: Readonly<Record<string, (...args: never[]) => unknown>>,
  perform?: (calls: WorkerRequest, wakes: Set<string>) => Outcome[],
): void => {
  const reply = (outcomes: readonly Outcome[], wakes: ReadonlySet<string>, commitMs: number | null): void =>
    port.postMessage(JSON.stringify({ outcomes, wakes: [...wakes], commitMs } satisfies WorkerReply));
  const specialOf = (request: WorkerRequest | undefined) => request?.[0] && special[request[0][0]];

  const doSpecial = ([call]: WorkerRequest): void => {
    const [name = '', args = []] = call ?? [];
    try {
      reply([{ ok: true, value: special[name]?.(...(args as never[])) }], new Set(), null);
    } catch (error) {
      reply([{ ok: false, error: plain(error) }], new Set(), null);
    }
    if (name === 'close') port.close();
  };

  port.on('message', (text: string) => {
    let request: WorkerRequest | undefined = JSON.parse(text) as WorkerRequest;
    while (request) {
      if (specialOf(request)) {
        doSpecial(request);
        return;
      }
      const started = performance.now();
      const calls = [...request];
      const wakes = new Set<string>();
      request = nextRequest();
      while (request && !specialOf(request) && calls.length < LARGEST) {
        calls.push(...request);
        request = nextRequest();
      }
      const outcomes = perform?.(calls, wakes) ?? [];
      reply(outcomes, wakes, isRead(calls) ? null : performance.now() - started);
    }
  });
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

/** What was found when the database was opened, for people. */
const notices: string[] = [];
let opened: Outcome;
try {
  start();
  opened = { ok: true, value: notices };
} catch (error) {
  opened = { ok: false, error: plain(error) };
}
port.postMessage(JSON.stringify({ outcomes: [opened], wakes: [], commitMs: null } satisfies WorkerReply));
