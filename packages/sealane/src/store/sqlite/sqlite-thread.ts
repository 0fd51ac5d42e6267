import { Worker } from 'node:worker_threads';

import { type ErrorCode, SealaneError } from '#domain';

import type { Outcome, PlainError, WorkerOptions, WorkerReply, WorkerRequest } from './sqlite-worker.ts';

/** A worker thread with a connection, as a function that sends it a batch of calls. */
export interface SqliteThread {
  call(calls: WorkerRequest['calls']): Promise<WorkerReply>;
  stop(): Promise<void>;
}

/** Resolves when the thread has its connection; rejects with what kept it from opening. */
export const startThread = async (options: WorkerOptions): Promise<SqliteThread> => {
  const isSource = import.meta.url.endsWith('.ts');
  const worker = new Worker(new URL(isSource ? './sqlite-worker.ts' : './sqlite-worker.js', import.meta.url), {
    // A thread does not inherit how its parent finds the sources.
    ...(isSource && { execArgv: ['--conditions=sealane:source', '--disable-warning=ExperimentalWarning'] }),
    workerData: options,
    name: `sealane-sqlite-${options.role}`,
    // What it allocates dies young: under load a larger nursery is cleaned less often. It grows only when it is used.
    resourceLimits: { maxYoungGenerationSizeMb: 32 },
  });
  const waiting = new Map<
    number,
    { readonly resolve: (reply: WorkerReply) => void; readonly reject: (error: Error) => void }
  >();
  let lastId = 0;
  let dead: Error | undefined;
  const fail = (error: Error): void => {
    dead = error;
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  worker.on('message', (text: string) => {
    const reply = JSON.parse(text) as WorkerReply;
    waiting.get(reply.id)?.resolve(reply);
    waiting.delete(reply.id);
  });
  worker.on('error', (error) => fail(error instanceof Error ? error : new Error(String(error))));
  worker.on('exit', () => fail(dead ?? new SealaneError('unavailable', 'The store has been closed.')));
  const reply = (id: number): Promise<WorkerReply> =>
    new Promise((resolve, reject) => {
      if (dead) reject(dead);
      else waiting.set(id, { resolve, reject });
    });

  const [opened] = (await reply(0)).outcomes;
  if (opened && !opened.ok) {
    await worker.terminate();
    throw revive(opened.error);
  }
  return {
    call: (calls) => {
      lastId += 1;
      const answer = reply(lastId);
      worker.postMessage(JSON.stringify({ id: lastId, calls } satisfies WorkerRequest));
      return answer;
    },
    stop: async () => {
      if (dead) return;
      const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
      lastId += 1;
      worker.postMessage(JSON.stringify({ id: lastId, calls: [['close', []]] } satisfies WorkerRequest));
      await exited;
    },
  };
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
