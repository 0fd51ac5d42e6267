import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';

import { afterEach, expect, it } from 'vitest';

import type { AuditEvent, Storage } from '../storage.ts';
import { openWriter } from './crashed-writer.fixture.ts';
import { openSqlite } from './index.ts';
import { startThread } from './sqlite-thread.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
const newFile = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'sealane-locked-'));
  folders.push(folder);
  return join(folder, 'sealane.db');
};

/** Somebody else's connection, which holds the write lock. */
const lockDatabase = (file: string): { unlock(): void } & Disposable => {
  const database = new DatabaseSync(file, { timeout: 10_000 });
  database.exec('BEGIN IMMEDIATE');
  return { unlock: () => database.exec('ROLLBACK'), [Symbol.dispose]: () => database.close() };
};

const event = (subject: string): AuditEvent => ({ at: 1, kind: 'test', actor: 'test', subject, facts: {} });
const recordAll = (storage: Storage, count: number): Promise<void>[] =>
  Array.from({ length: count }, (_, n) => storage.audit.record(event(`${n}`)));
const subjectsIn = async (storage: Storage): Promise<readonly string[]> =>
  (await storage.audit.list({ limit: 1000 })).map(({ subject }) => subject).toReversed();
const numbers = (count: number): readonly string[] => Array.from({ length: count }, (_, n) => `${n}`);

it('calls that come while another process holds the lock wait for it, are stored in their order, and hold up no reads', async () => {
  const file = newFile();
  await using storage = await openSqlite({ file });
  using lock = lockDatabase(file);
  const writes = recordAll(storage, 32);
  const lockedAt = performance.now();
  const slowest = { ms: 0 };
  while (performance.now() - lockedAt < 1200) {
    const askedAt = performance.now();
    expect(await subjectsIn(storage)).toEqual([]);
    slowest.ms = Math.max(slowest.ms, performance.now() - askedAt);
    await delay(1);
  }
  expect(slowest.ms).toBeLessThan(800);
  const late = storage.audit.record(event('late'));
  lock.unlock();
  await Promise.all([...writes, late]);
  expect(await subjectsIn(storage)).toEqual([...numbers(32), 'late']);
});

it('calls that have waited for the lock long enough are refused together, and are not stored', async () => {
  const file = newFile();
  await using storage = await openSqlite({ file, lockMs: 300 });
  using lock = lockDatabase(file);
  const lockedAt = performance.now();
  const outcomes = await Promise.allSettled(recordAll(storage, 32));
  expect(performance.now() - lockedAt).toBeLessThan(2500);
  for (const outcome of outcomes) {
    expect(outcome).toMatchObject({
      status: 'rejected',
      reason: { code: 'unavailable', message: expect.stringContaining('write lock'), retryAfterMs: 1000 },
    });
    expect(outcome.status === 'rejected' && (outcome.reason as { forCallers?: string }).forCallers).not.toContain(file);
  }
  expect(await storage.upkeep.check()).toMatch(/write lock/);
  lock.unlock();
  const unlockedAt = performance.now();
  await storage.audit.record(event('after'));
  expect(performance.now() - unlockedAt).toBeLessThan(2000);
  expect(await subjectsIn(storage)).toEqual(['after']);
  expect(await storage.upkeep.check()).toBeUndefined();
});

it('of calls in one batch while the lock is taken, the reads are answered and only one write waits', async () => {
  const file = newFile();
  const thread = await startThread({ role: 'writer', file, synchronous: 'FULL' });
  using lock = lockDatabase(file);
  const askedAt = performance.now();
  const calls = Array.from({ length: 64 }, (_, n) =>
    n % 2 ? (['findKey', ['nobody']] as const) : (['record', [event(`${n}`)]] as const),
  );
  const outcomes = await thread.call(calls);
  expect(performance.now() - askedAt).toBeLessThan(1500);
  expect(outcomes.map(({ ok }) => ok)).toEqual(calls.map(([name]) => name === 'findKey'));
  lock.unlock();
  await thread.stop();
});

it('a store that is closed while its calls wait for the lock refuses them', async () => {
  const file = newFile();
  const storage = await openSqlite({ file });
  using lock = lockDatabase(file);
  const outcomes = Promise.allSettled(recordAll(storage, 3));
  await delay(400);
  await storage.close();
  for (const outcome of await outcomes) {
    expect(outcome).toMatchObject({ status: 'rejected', reason: { message: expect.stringMatching(/closed/) } });
  }
  lock.unlock();
  await using again = await openSqlite({ file });
  expect(await subjectsIn(again)).toEqual([]);
});

/** Tries to get the lock all the time from when it is told to, and holds it for long when it has it. */
const GREEDY = `
  const { DatabaseSync } = require('node:sqlite');
  const { parentPort, workerData: { file, signals } } = require('node:worker_threads');
  const database = new DatabaseSync(file, { timeout: 0 });
  parentPort.postMessage('here');
  Atomics.wait(signals, 0, 0);
  for (let tries = 0; ; tries += 1) {
    if (tries === 10) {
      Atomics.store(signals, 1, 1);
      Atomics.notify(signals, 1);
    }
    try {
      database.exec('BEGIN IMMEDIATE');
    } catch {
      continue;
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
    database.exec('ROLLBACK');
  }`;

it('what was answered can be read while another process is after the lock, also when a batch fails', async () => {
  for (let round = 0; round < 10; round += 1) {
    using opened = openWriter();
    const signals = new Int32Array(new SharedArrayBuffer(8));
    const greedy = new Worker(GREEDY, { eval: true, workerData: { file: opened.file, signals } });
    await once(greedy, 'message');
    // From here on nothing waits for the event loop, so the database is behind its redo log, and keeps the lock.
    opened.add('answered');
    Atomics.store(signals, 0, 1);
    Atomics.notify(signals, 0);
    Atomics.wait(signals, 1, 0);
    const failing = (): void =>
      opened.writer.perform(() => {
        throw new Error('broken');
      }, new Set());
    expect(failing).toThrow('broken');
    expect(opened.kinds()).toEqual(['answered']);
    await greedy.terminate();
  }
});
