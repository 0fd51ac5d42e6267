import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import * as fc from 'fast-check';
import * as vitest from 'vitest';

import { describeStoreContract, describeStoreModel, type OpenContractStore } from '#testing';

import { createStepStorage, type Driver } from '../step-storage.ts';
import { READS, WRITES } from '../steps/index.ts';
import { OWED_WORD, refuse, type Steps, undoPoint } from '../steps/step.ts';
import { redoAndCommit } from './redo.ts';
import { openForWriting } from './sqlite-database.ts';
import { createSqliteWriter } from './sqlite-writer.ts';

/**
 * The store as its thread executes it, in this thread: so nothing happens while its files are copied, and each copy is
 * what a kill would leave at that moment. Now and then, after a batch, such a copy is opened: every row of every table
 * must be there as the callers have seen it. In between batches fail in the middle, and the database catches up; and in
 * some batches every call is refused after it was done, and done again.
 */
const START_EVERY = 4;
const FAIL_EVERY = 7;
const REFUSE_EVERY = 5;
const FLUSH_EVERY = 11;

type Call = { readonly name: string; readonly args: readonly unknown[] };
interface Queued extends Call {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const STEPS = { ...WRITES, ...READS } as unknown as Readonly<
  Record<string, (...args: readonly unknown[]) => Steps<unknown>>
>;
const plain = <T>(value: T): T => (value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T));

/** Does what another step does, and takes it back. */
function* doneAndRefused(steps: Steps<unknown>): Steps<unknown> {
  yield* undoPoint();
  yield* steps;
  return refuse(undefined);
}

/** Every row of every table; `redo` itself is the one thing that a crash may change. */
const dumpOf = (database: DatabaseSync): string => {
  const tables = database
    .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name <> 'redo' ORDER BY name")
    .all();
  return tables
    .map(({ name, sql }) => {
      const rows = database.prepare(`SELECT * FROM ${String(name)}`).all();
      return `${String(sql)}\n${rows.map((row) => JSON.stringify(Object.values(row))).join('\n')}`;
    })
    .join('\n');
};

/** Opening lets go of what the killed process held: those are all its changes. */
const LET_GO = `DELETE FROM instances`;

const firstDifference = (a: string, b: string): string => {
  const [left, right] = [a.split('\n'), b.split('\n')];
  const at = left.findIndex((line, index) => line !== right[index]);
  return `expected ${left[at] ?? 'nothing more'}, found ${right[at < 0 ? left.length : at] ?? 'nothing more'}`;
};
const requireSame = (found: string, expected: string, when: string): void => {
  if (found !== expected)
    throw new Error(`What was answered is not what is there ${when}: ${firstDifference(expected, found)}`);
};

const openCrashing = (folder: string, copyEvery: number) => {
  const file = join(folder, 'sealane.db');
  const copy = join(folder, 'copy.db');
  const clock = { now: 0 };
  // No power is lost here, and nobody waits for a disk.
  const options = { file, synchronous: 'OFF' } as const;
  const database = openForWriting(options, clock);
  const writer = createSqliteWriter(database, options, clock);
  const wakeListeners = new Set<() => void>();
  const owedListeners = new Set<() => void>();
  const commitListeners = new Set<(durationMs: number) => void>();
  const counts = { batches: 0, copies: 0, behind: 0 };

  /** What a service finds after a kill at this very moment. */
  const compareCopy = (): void => {
    const expected = dumpOf(database);
    counts.copies += 1;
    if (database.isTransaction) counts.behind += 1;
    for (const ending of ['', '-wal', '-shm', '.redo']) {
      rmSync(`${copy}${ending}`, { force: true });
      if (ending !== '-shm' && existsSync(`${file}${ending}`)) copyFileSync(`${file}${ending}`, `${copy}${ending}`);
    }
    using opened = new DatabaseSync(copy);
    opened.exec('PRAGMA synchronous = OFF');
    redoAndCommit(opened, copy);
    requireSame(dumpOf(opened), expected, 'after a crash');
    if (counts.copies % START_EVERY !== 0) return;
    opened.exec(LET_GO);
    const released = dumpOf(opened);
    using again = openForWriting({ ...options, file: copy }, { now: 0 });
    requireSame(dumpOf(again), released, 'after the next start');
  };

  const perform = (calls: readonly Call[], wakes: Set<string>): unknown[] =>
    calls.every(({ name }) => name in READS)
      ? writer.look((run) => calls.map(({ name, args }) => run(STEPS[name]!(...args))))
      : writer.perform(
          (run) =>
            calls.map(({ name, args }) => {
              if (counts.batches % REFUSE_EVERY === 0) run(doneAndRefused(STEPS[name]!(...args)));
              return run(STEPS[name]!(...args));
            }),
          wakes,
        );

  const failInTheMiddle = (calls: readonly Call[]): void => {
    try {
      writer.perform((run) => {
        for (const { name, args } of calls) run(STEPS[name]!(...args));
        throw new Error('on purpose');
      }, new Set());
    } catch (error) {
      if (!(error instanceof Error) || error.message !== 'on purpose') throw error;
    }
  };

  let queue: Queued[] = [];
  const work = (): void => {
    const batch = queue;
    queue = [];
    const wakes = new Set<string>();
    const number = (counts.batches += 1);
    const startedAt = performance.now();
    try {
      // What failed has not happened: the same calls come again right after it.
      if (number % FAIL_EVERY === 0) failInTheMiddle(batch);
      const values = perform(batch, wakes);
      if (batch.some(({ name }) => name in WRITES))
        for (const listener of commitListeners) listener(performance.now() - startedAt);
      if (number % copyEvery === 0) compareCopy();
      if (number % FLUSH_EVERY === 0) writer.flush();
      for (const [index, { resolve }] of batch.entries()) resolve(plain(values[index]));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    if (wakes.has('')) setImmediate(() => wakeListeners.forEach((listener) => listener()));
    if (wakes.has(OWED_WORD)) setImmediate(() => owedListeners.forEach((listener) => listener()));
  };
  const call = async (name: string, args: readonly unknown[]): Promise<never> =>
    new Promise((resolve, reject) => {
      if (queue.push({ name, args: plain(args), resolve: resolve as (value: unknown) => void, reject }) === 1)
        setImmediate(work);
    });
  const subscribe = <T>(listeners: Set<T>, listener: T): Disposable => {
    listeners.add(listener);
    return { [Symbol.dispose]: () => listeners.delete(listener) };
  };

  const driver: Driver = {
    description: 'SQLite, which crashes',
    exclusive: true,
    write: (name, ...args) => call(name, args),
    read: (name, ...args) => call(name, args),
    check: async () => undefined,
    onWake: (listener) => subscribe(wakeListeners, () => listener([])),
    onOwed: (listener) => subscribe(owedListeners, listener),
    onCommit: (listener) => subscribe(commitListeners, listener),
    close: async () => {
      compareCopy();
      writer.close();
      database.close();
    },
  };
  return { storage: createStepStorage(driver), counts };
};

const crashing =
  (copyEvery: number): OpenContractStore =>
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sealane-crashing-'));
    const { storage, counts } = openCrashing(folder, copyEvery);
    return {
      storage,
      expire: async (instance) => {
        await storage.tasks.renew(instance, 0);
      },
      close: async () => {
        await storage.close();
        rmSync(folder, { recursive: true });
        // Otherwise nothing of this has been about the redo log.
        vitest.expect(counts.behind).toBeGreaterThan(counts.copies / 4);
      },
    };
  };

// The contract leaves a lot behind, which makes each look at everything slow.
describeStoreContract('SQLite that is killed at any moment', crashing(100), vitest);
describeStoreModel('SQLite that is killed at any moment', crashing(9), { ...vitest, fc }, { runs: 20, crowds: 20 });
