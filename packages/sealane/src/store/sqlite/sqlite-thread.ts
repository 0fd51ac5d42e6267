import { Worker } from 'node:worker_threads';

import { type ErrorCode, SealaneError } from '#domain';

import type { WorkerOptions } from './sqlite-worker.ts';
import type { Outcome, PlainError, WorkerReply, WorkerRequest } from './worker-messages.ts';

/** A worker thread with a connection to the database, which takes batches of calls. */
export interface SqliteThread {
  call(calls: WorkerRequest): Promise<readonly Outcome[]>;
  /** The same for calls that are JSON already. */
  post(calls: readonly string[]): Promise<readonly Outcome[]>;
  /** What the operator should know about the opening of the database. */
  readonly notices: readonly string[];
  stop(): Promise<void>;
}

const NONE: readonly Outcome[] = [];

const closed = (): SealaneError => new SealaneError('unavailable', 'The store has been closed.');

const died = (file: string, cause: Error): SealaneError =>
  new SealaneError(
    'unavailable',
    `The thread that owns the database ${file} has ended unexpectedly (${cause.message}), so this service can do nothing ` +
      'more. Start the service again: what it has answered is stored, and what was running is recovered.',
    { cause, forCallers: 'This service has lost its database and must be started again. Tell its operator.' },
  );

export interface ThreadListeners {
  readonly onReply?: (reply: WorkerReply) => void;
  /** The open thread has ended without a stop. Called before its callers get the error. */
  readonly onDeath?: (error: SealaneError) => void;
}

/** Resolves when the thread has its connection. Rejects with the reason if it could not open the database. */
export const startThread = async (
  options: WorkerOptions,
  { onReply, onDeath }: ThreadListeners = {},
): Promise<SqliteThread> => {
  const isSource = import.meta.url.endsWith('.ts');
  const worker = new Worker(new URL(isSource ? './sqlite-worker.ts' : './sqlite-worker.js', import.meta.url), {
    // A thread does not inherit how its parent finds the sources.
    ...(isSource && { execArgv: ['--conditions=sealane:source', '--disable-warning=ExperimentalWarning'] }),
    workerData: options,
    name: `sealane-sqlite-${options.role}`,
    // What the thread allocates dies young: under load, a larger nursery is cleaned less often. It grows only when it
    // is used.
    resourceLimits: {
      maxYoungGenerationSizeMb: 32,
      ...(options.heapMb !== undefined && { maxOldGenerationSizeMb: options.heapMb }),
    },
  });
  // The thread answers in the order in which it is asked.
  const waiting: {
    /** How many outcomes the request gets. */
    readonly calls: number;
    readonly resolve: (outcomes: readonly Outcome[]) => void;
    readonly reject: (error: Error) => void;
  }[] = [];
  /** The outcomes of the first waiting request so far: a large reply comes in several parts. */
  let part = NONE;
  let isOpen = false;
  let stopped: Promise<void> | undefined;
  let dead: Error | undefined;
  const end = (cause: Error): void => {
    if (dead) return;
    if (!isOpen || stopped) dead = cause;
    else {
      const death = died(options.file, cause);
      dead = death;
      onDeath?.(death);
    }
    for (const { reject } of waiting.splice(0)) reject(dead);
  };
  worker.on('message', (text: string) => {
    const reply = JSON.parse(text) as WorkerReply;
    const outcomes = part.length === 0 ? reply.outcomes : [...part, ...reply.outcomes];
    let done = 0;
    for (let [asked] = waiting; asked && done + asked.calls <= outcomes.length; [asked] = waiting) {
      waiting.shift();
      asked.resolve(asked.calls === outcomes.length ? outcomes : outcomes.slice(done, done + asked.calls));
      done += asked.calls;
    }
    part = done === outcomes.length ? NONE : outcomes.slice(done);
    onReply?.(reply);
  });
  worker.on('error', (error) => end(error instanceof Error ? error : new Error(String(error))));
  const exited = new Promise<void>((resolve) => {
    worker.on('exit', (code) => {
      end(stopped ? closed() : new Error(`exit code ${code}`));
      resolve();
    });
  });
  const answerTo = (calls: number): Promise<readonly Outcome[]> =>
    new Promise((resolve, reject) => {
      if (dead) reject(dead);
      else waiting.push({ calls, resolve, reject });
    });

  const stop = async (): Promise<void> => {
    // A thread that has failed holds the file until it has exited.
    if (dead) return exited;
    // The thread answers this like any other request. Requests after it get no answer, and fail when the thread has
    // exited.
    void answerTo(1).catch(() => undefined);
    worker.postMessage([JSON.stringify(['close', []])]);
    await exited;
  };

  const [opened] = await answerTo(1);
  if (opened && !opened.ok) {
    await worker.terminate();
    throw revive(opened.error);
  }
  isOpen = true;
  const post = (calls: readonly string[]): Promise<readonly Outcome[]> => {
    const answer = answerTo(calls.length);
    worker.postMessage(calls);
    return answer;
  };
  return {
    notices: (opened?.value ?? []) as readonly string[],
    call: (calls) => post(calls.map((call) => JSON.stringify(call))),
    post,
    stop: () => (stopped ??= stop()),
  };
};

const revive = (error: PlainError): Error => {
  if (error.code !== undefined) {
    const { retryAfterMs, facts, forCallers } = error;
    return new SealaneError(error.code as ErrorCode, error.message, {
      facts,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
      ...(forCallers !== undefined && { forCallers }),
    });
  }
  const unknown = new Error(error.message);
  if (error.stack) unknown.stack = error.stack;
  return unknown;
};

/** The value of an outcome, or its error, thrown on this side. */
export const settle = (outcome: Outcome | undefined): unknown => {
  if (!outcome) throw new Error('The store thread answered fewer calls than it was sent.');
  if (!outcome.ok) throw revive(outcome.error);
  return outcome.value;
};
