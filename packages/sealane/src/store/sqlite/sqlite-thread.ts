import { Worker } from 'node:worker_threads';

import { type ErrorCode, SealaneError } from '#domain';

import type { WorkerOptions } from './sqlite-worker.ts';
import type { Outcome, PlainError, WorkerReply, WorkerRequest } from './worker-messages.ts';

/** What the thread made of a batch of calls. */
export interface Answer {
  readonly outcomes: readonly Outcome[];
  /** Present: they are written, and durable when this resolves; if it rejects, none of it has happened. */
  readonly durable?: Promise<void>;
}

/** A worker thread with a connection, as a function that sends it a batch of calls. */
export interface SqliteThread {
  call(calls: WorkerRequest): Promise<Answer>;
  /** The same for calls that are JSON already. */
  post(calls: readonly string[]): Promise<Answer>;
  /** The same for admissions, which are answered as soon as they are written. */
  admit(admissions: readonly string[]): Promise<Answer>;
  /** What was found when the database was opened, for people. */
  readonly notices: readonly string[];
  stop(): Promise<void>;
}

const NONE: readonly Outcome[] = [];

const closed = (): SealaneError => new SealaneError('unavailable', 'The store has been closed.');

/** Resolves when the thread has its connection; rejects with what kept it from opening. */
export const startThread = async (
  options: WorkerOptions,
  onReply: (reply: WorkerReply) => void = () => undefined,
): Promise<SqliteThread> => {
  const isSource = import.meta.url.endsWith('.ts');
  const worker = new Worker(new URL(isSource ? './sqlite-worker.ts' : './sqlite-worker.js', import.meta.url), {
    // A thread does not inherit how its parent finds the sources.
    ...(isSource && { execArgv: ['--conditions=sealane:source', '--disable-warning=ExperimentalWarning'] }),
    workerData: options,
    name: `sealane-sqlite-${options.role}`,
    // What it allocates dies young: under load a larger nursery is cleaned less often. It grows only when it is used.
    resourceLimits: { maxYoungGenerationSizeMb: 32 },
  });
  // The thread answers in the order in which it is asked; admissions are a line of their own.
  const calls = createLine();
  const admissions = createLine();
  /** Everything that is written and not durable yet waits for the same sync. */
  let pending: PromiseWithResolvers<void> | undefined;
  let dead: Error | undefined;
  const fail = (error: Error): void => {
    dead = error;
    calls.fail(error);
    admissions.fail(error);
    pending?.reject(error);
  };
  worker.on('message', (text: string) => {
    const reply = JSON.parse(text) as WorkerReply;
    const { outcomes, admitted, failure } = reply;
    if (admitted === 'written') {
      pending ??= unwatchedPromise();
      admissions.answer({ outcomes, durable: pending.promise });
    } else if (admitted === 'durable') admissions.answer({ outcomes });
    else {
      if (failure) pending?.reject(revive(failure));
      else pending?.resolve();
      pending = undefined;
      calls.answer({ outcomes });
    }
    onReply(reply);
  });
  worker.on('error', (error) => fail(error instanceof Error ? error : new Error(String(error))));
  const exited = new Promise<void>((resolve) => {
    worker.on('exit', () => {
      fail(dead ?? closed());
      resolve();
    });
  });
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    // One that has failed holds the file until it is gone.
    if (dead) return exited;
    // It is answered like any other request; what is asked after it never is, and fails when the thread is gone.
    void calls.ask(1, dead).catch(() => undefined);
    worker.postMessage(JSON.stringify([['close', []]] satisfies WorkerRequest));
    await exited;
  };

  const [opened] = (await calls.ask(1, dead)).outcomes;
  if (opened && !opened.ok) {
    await worker.terminate();
    throw revive(opened.error);
  }
  const post = (texts: readonly string[]): Promise<Answer> => {
    const answer = calls.ask(texts.length, dead);
    worker.postMessage(`[${texts.join(',')}]`);
    return answer;
  };
  return {
    notices: (opened?.value ?? []) as readonly string[],
    call: (request) => post(request.map((call) => JSON.stringify(call))),
    post,
    admit: (texts) => {
      const answer = admissions.ask(texts.length, dead);
      worker.postMessage(`{"admissions":[${texts.join(',')}]}`);
      return answer;
    },
    stop: () => (stopped ??= stop()),
  };
};

/** Requests that are answered in their order, each when it has all of its outcomes: a large reply comes in several. */
const createLine = () => {
  const waiting: {
    /** How many outcomes it gets. */
    readonly calls: number;
    readonly resolve: (answer: Answer) => void;
    readonly reject: (error: Error) => void;
  }[] = [];
  /** Outcomes of the request whose turn it is. */
  let part = NONE;
  return {
    ask: (calls: number, dead: Error | undefined): Promise<Answer> =>
      new Promise((resolve, reject) => {
        if (dead) reject(dead);
        else waiting.push({ calls, resolve, reject });
      }),
    answer: (given: Answer): void => {
      const outcomes = part.length === 0 ? given.outcomes : [...part, ...given.outcomes];
      let done = 0;
      for (let [asked] = waiting; asked && done + asked.calls <= outcomes.length; [asked] = waiting) {
        waiting.shift();
        const isAll = asked.calls === outcomes.length && part.length === 0;
        asked.resolve(isAll ? given : { ...given, outcomes: outcomes.slice(done, done + asked.calls) });
        done += asked.calls;
      }
      part = done === outcomes.length ? NONE : outcomes.slice(done);
    },
    fail: (error: Error): void => {
      for (const { reject } of waiting.splice(0)) reject(error);
    },
  };
};

/** A promise that may be rejected with nobody listening. */
const unwatchedPromise = (): PromiseWithResolvers<void> => {
  const own = Promise.withResolvers<void>();
  own.promise.catch(() => undefined);
  return own;
};

const revive = (error: PlainError): Error => {
  if (error.code !== undefined) {
    const { retryAfterMs, facts } = error;
    return new SealaneError(error.code as ErrorCode, error.message, {
      facts,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
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
