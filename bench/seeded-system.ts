import { openSync, closeSync, readSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import type { Bench } from './bench.ts';
import { openConnection } from './client.ts';
import { within } from './load.ts';
import { rpcRequest, userMessage } from './requests.ts';
import { seedStore, type Seed } from './seed.ts';
import { startSystem, type StartOptions, type System, type SystemName } from './systems.ts';

/** A Sealane whose one owner has many tasks. */
export interface SeededSystem extends AsyncDisposable {
  readonly system: System;
  readonly seed: Seed;
  /** Ids of some of its tasks, from all ages. */
  readonly ids: readonly string[];
}

interface TaskView {
  readonly id: string;
  readonly status: { readonly state: string };
}

/**
 * Starts Sealane to make one task of each kind, stops it, multiplies them in its file, and starts it again. The tasks are
 * copies of rows that this version wrote itself, so it works for an earlier version with another schema as well.
 */
export const startSeeded = async (bench: Bench, tasks: number, name: SystemName = 'sealane'): Promise<SeededSystem> => {
  const dataDir = join(bench.dir, `lookups-${name}-${tasks}`);
  const options: StartOptions = { dataDir, signal: bench.signal, before: bench.before };
  const templates = await makeTemplates(name, options);
  const seed: Seed = { tasks, templates, newest: new Date() };
  const ids = seedStore(databaseIn(dataDir), seed);
  const system = await startSystem(name, options);
  return { system, seed, ids, [Symbol.asyncDispose]: () => system[Symbol.asyncDispose]() };
};

const makeTemplates = async (name: SystemName, options: StartOptions): Promise<Seed['templates']> => {
  await using system = await startSystem(name, options);
  const { port } = system;
  const { signal } = options;
  const send = async (text: string, state: string): Promise<string> => {
    const { task } = (await call(port, 'SendMessage', { message: userMessage(`template-${state}`, text) }, signal)) as {
      readonly task: TaskView;
    };
    if (task.status.state !== state) throw new Error(`"${text}" gave ${task.status.state} instead of ${state}`);
    return task.id;
  };
  const canceled = await send('@ask again?', 'TASK_STATE_INPUT_REQUIRED');
  await call(port, 'CancelTask', { id: canceled }, signal);
  return {
    completed: await send('a task that was done long ago', 'TASK_STATE_COMPLETED'),
    failed: await send('@fail no luck', 'TASK_STATE_FAILED'),
    canceled,
    'input-required': await send('@ask which one?', 'TASK_STATE_INPUT_REQUIRED'),
  };
};

const CALL_TIMEOUT_MS = 30_000;

/** One call, answered with its result. */
export const call = async (port: number, method: string, params: unknown, signal: AbortSignal): Promise<unknown> => {
  using connection = await openConnection(port);
  const pieces: Buffer[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  connection.send(rpcRequest(method, params), {
    body: (chunk) => void pieces.push(Buffer.from(chunk)),
    end: resolve,
    fail: reject,
  });
  await within(promise, CALL_TIMEOUT_MS, signal);
  const text = Buffer.concat(pieces).toString();
  const { result } = JSON.parse(text) as { readonly result?: unknown };
  if (result === undefined) throw new Error(`${method} was refused: ${text}`);
  return result;
};

const SQLITE_MAGIC = 'SQLite format 3\0';

/** The database in a data directory, known by how every SQLite file begins. */
const databaseIn = (dataDir: string): string => {
  const found = readdirSync(dataDir, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(dataDir, entry.name))
    .find(startsLikeSqlite);
  if (found === undefined) throw new Error('Sealane left no SQLite file in its data directory');
  return found;
};

const startsLikeSqlite = (file: string): boolean => {
  const handle = openSync(file, 'r');
  try {
    const start = Buffer.alloc(SQLITE_MAGIC.length);
    readSync(handle, start);
    return start.toString('latin1') === SQLITE_MAGIC;
  } finally {
    closeSync(handle);
  }
};
