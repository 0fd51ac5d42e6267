import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';

import { SealaneError } from '#domain';

import { READS, WRITES } from '../steps/index.ts';
import type { Steps } from '../steps/step.ts';
import { createDiskReserve } from './disk-reserve.ts';
import { type Clock, ownRedo } from './redo.ts';
import { openForReading, openForWriting, type SqliteOptions } from './sqlite-database.ts';
import { sqliteError } from './sqlite-error.ts';
import { type FileLock, lockFile } from './sqlite-lock.ts';
import { createSqliteWriter } from './sqlite-writer.ts';

/**
 * The thread that owns a connection. It executes batches of steps, so that many callers share one sync of the disk; the
 * service's event loop never waits for a disk. Reads come in between. A `reader` is a second thread that copies the
 * database. Requests and replies cross as JSON text, which costs a quarter of a structured clone.
 */
export type WorkerRequest = readonly (readonly [name: string, args: readonly unknown[]])[];
/** Those of the second kind are answered when they are written, so that runs can begin a sync earlier. */
export type WorkerMessage = WorkerRequest | { readonly admissions: WorkerRequest };
/**
 * To one request, to several at once, or to the first calls of one: always in their order, admissions apart from the
 * others. When a reply says nothing else, everything that was written before it is durable.
 */
export interface WorkerReply {
  readonly outcomes: readonly Outcome[];
  readonly wakes: readonly string[];
  /** These are outcomes of admissions; of `written` ones a later reply says that they are durable, or why not. */
  readonly admitted?: 'written' | 'durable';
  /** Nothing has happened of what was written and not durable yet. */
  readonly failure?: PlainError;
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

/**
 * An outcome as text. One of many tasks can be longer than a text can be (half a gigabyte): that is the trouble of its
 * caller alone.
 */
const textOf = (outcome: Outcome): string => {
  try {
    return JSON.stringify(outcome);
  } catch (cause) {
    const tooMuch = 'This is too much for one answer: ask for fewer tasks at once, or without artifacts.';
    return JSON.stringify({ ok: false, error: plain(new SealaneError('too-large', tooMuch, { cause })) });
  }
};

/** A batch ends early when its outcomes are as long as this: many may ask for much at the same moment. */
const REPLY_LENGTH = 4 * 1024 * 1024;

/** Does so many of the calls that their outcomes are not too long, at least one. Those share durability, and fate. */
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

/** The disk that is full may be another than the database's. */
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
  answer({
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
  });

const serveWriter = (database: DatabaseSync, clock: Clock, lock: FileLock | undefined): void => {
  const writer = createSqliteWriter(database, options, clock);
  const reserve = createDiskReserve(options.file);

  /** One bad call must not fail its neighbours: if the batch fails, each call gets one of its own. */
  const perform = (calls: WorkerRequest, wakes: Set<string>): string[] => {
    try {
      if (isRead(calls)) return writer.look((run) => doAll(calls, run, () => undefined));
      const own = new Set<string>();
      const texts = writer.write((run) => doAll(calls, run, (name) => reserve.refusalOf(name)), own);
      for (const id of own) wakes.add(id);
      return texts;
    } catch (error) {
      if (calls.length === 1) return [textOf({ ok: false, error: plain(error) })];
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
      flush: () => {
        reserve.requireInPlace();
        writer.flush();
      },
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
        } finally {
          database.close();
          lock?.release();
        }
      },
    },
    {
      perform: (calls, wakes) => {
        const texts = perform(calls, wakes);
        if (reserve.isTight) shrink();
        return texts;
      },
      sync: () => writer.sync(),
      isDurable: () => writer.isDurable,
    },
  );
};

/** So many calls are done at once at most, so that no caller waits for an endless batch. */
const LARGEST = 512;

/** So long an admission that is written waits at most for something to be synced with. */
const COMPANY_MS = 1;

/** The next request, if it is there already. */
const nextRequest = (): WorkerMessage | undefined => {
  const received = receiveMessageOnPort(port);
  return received && (JSON.parse(received.message) as WorkerMessage);
};

const isAdmissions = (request: WorkerMessage): request is { readonly admissions: WorkerRequest } =>
  !Array.isArray(request);

/** What answers calls that are not special: the texts of the outcomes of the first of them, written and not durable yet. */
interface Performer {
  perform(calls: WorkerRequest, wakes: Set<string>): readonly string[];
  sync(): void;
  isDurable(): boolean;
}

/**
 * Answers every request: a special one by its name, others by what performs them, all that have come in meanwhile at once:
 * they share one sync of the disk and one answer. Nothing is answered before that sync but admissions, and these only so
 * that their runs can begin.
 */
const answer = (special: Readonly<Record<string, (...args: never[]) => unknown>>, performer?: Performer): void => {
  const isSpecial = (request: WorkerMessage): boolean =>
    !isAdmissions(request) && request[0] !== undefined && request[0][0] in special;

  const doSpecial = ([call]: WorkerRequest): void => {
    const [name = '', args = []] = call ?? [];
    try {
      reply([textOf({ ok: true, value: special[name]?.(...(args as never[])) })]);
    } catch (error) {
      reply([textOf({ ok: false, error: plain(error) })]);
    }
    if (name === 'close') port.close();
  };

  /** Somebody was told that an admission is written, and waits to hear that it is durable. */
  let isOwed = false;
  /** That word waits so long for company: the end of a short run, or what a run has to remember. */
  let syncSoon: NodeJS.Timeout | undefined;

  const admit = (own: Performer, admissions: WorkerRequest): void => {
    for (let left = admissions; left.length > 0;) {
      const wakes = new Set<string>();
      const texts = own.perform(left, wakes);
      const admitted = own.isDurable() ? 'durable' : 'written';
      if (admitted === 'written') isOwed = true;
      reply(texts, { wakes, admitted });
      left = left.slice(texts.length);
    }
  };

  /** Also without calls: then it is only said that what was admitted is durable. */
  const settle = (own: Performer, calls: WorkerRequest, started: number): void => {
    clearTimeout(syncSoon);
    syncSoon = undefined;
    isOwed = false;
    let left = calls;
    do {
      const wakes = new Set<string>();
      const texts = left.length > 0 ? own.perform(left, wakes) : [];
      const isWrite = !own.isDurable() || !isRead(left.slice(0, texts.length));
      try {
        own.sync();
        reply(texts, { wakes, commitMs: isWrite ? performance.now() - started : null });
      } catch (error) {
        const failure = plain(error);
        reply(
          texts.map(() => textOf({ ok: false, error: failure })),
          { failure },
        );
      }
      left = left.slice(texts.length);
    } while (left.length > 0);
  };

  /** All that is there already, and answers what comes after it and is no part of this. */
  const round = (own: Performer, first: WorkerMessage): WorkerMessage | undefined => {
    const started = performance.now();
    const admissions: WorkerRequest[number][] = [];
    const calls: WorkerRequest[number][] = [];
    let next: WorkerMessage | undefined = first;
    while (next && !isSpecial(next) && admissions.length + calls.length < LARGEST) {
      if (isAdmissions(next)) admissions.push(...next.admissions);
      else calls.push(...next);
      next = nextRequest();
    }
    const wasOwed = isOwed;
    admit(own, admissions);
    if (calls.length > 0 || wasOwed) settle(own, calls, started);
    else if (isOwed) syncSoon = setTimeout(() => settle(own, [], performance.now()), COMPANY_MS);
    return next;
  };

  port.on('message', (text: string) => {
    let request: WorkerMessage | undefined = JSON.parse(text) as WorkerMessage;
    while (request) {
      if (!performer) return doSpecial(request as WorkerRequest);
      if (!isSpecial(request)) request = round(performer, request);
      else {
        if (isOwed) settle(performer, [], performance.now());
        return doSpecial(request as WorkerRequest);
      }
    }
  });
};

const reply = (
  outcomes: readonly string[],
  about: { wakes?: Iterable<string>; commitMs?: number | null; admitted?: string; failure?: PlainError } = {},
): void => {
  const { wakes = [], commitMs = null, admitted, failure } = about;
  const more = `${admitted ? `,"admitted":"${admitted}"` : ''}${failure ? `,"failure":${JSON.stringify(failure)}` : ''}`;
  port.postMessage(
    `{"outcomes":[${outcomes.join(',')}],"wakes":${JSON.stringify([...wakes])},"commitMs":${String(commitMs)}${more}}`,
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

/** What was found when the database was opened, for people. */
const notices: string[] = [];
let opened: Outcome;
try {
  start();
  opened = { ok: true, value: notices };
} catch (error) {
  opened = { ok: false, error: plain(error) };
}
reply([textOf(opened)]);
