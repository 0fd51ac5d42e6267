import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';

import type { AuditEvent, Storage } from '../storage.ts';
import { openSqlite } from './index.ts';

const newFile = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'sealane-death-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'sealane.db');
};

const event = (subject: string, text = ''): AuditEvent => ({
  at: 1,
  kind: 'test',
  actor: 'test',
  subject,
  facts: { text },
});

/** A store whose thread dies when it is asked for everything: its heap has no room for that. */
const openMortal = async (file: string): Promise<Storage> => {
  const storage = await openSqlite({ file, heapMb: 16 });
  for (let n = 0; n < 60; n += 1) await storage.audit.record(event(`large ${n}`, 'x'.repeat(1_000_000)));
  return storage;
};
const askForTooMuch = (storage: Storage): Promise<unknown> => storage.audit.list({ limit: 1000 });

it('when the thread of the store dies, whoever has it open is told, and nobody waits for an answer', async () => {
  const file = newFile();
  const storage = await openMortal(file);
  const told: Error[] = [];
  const order: string[] = [];
  storage.onFatal?.((error) => {
    told.push(error);
    order.push('told');
  });
  const calls = [askForTooMuch(storage), storage.audit.record(event('in flight')), storage.keys.list()];
  const outcomes = await Promise.allSettled(
    calls.map((call) =>
      call.catch((error: unknown) => {
        order.push('rejected');
        throw error;
      }),
    ),
  );
  const refusal = {
    code: 'unavailable',
    message: expect.stringMatching(/has ended unexpectedly \(.*memory.*\).*Start the service again/),
    forCallers: expect.not.stringContaining(file),
  };
  expect(outcomes).toMatchObject(calls.map(() => ({ status: 'rejected', reason: refusal })));
  expect(told).toMatchObject([refusal]);
  expect(order).toEqual(['told', 'rejected', 'rejected', 'rejected']);

  await expect(storage.audit.record(event('too late'))).rejects.toMatchObject(refusal);
  await expect(storage.keys.list()).rejects.toMatchObject(refusal);
  expect(await storage.upkeep.check()).toMatch(/has ended unexpectedly/);
  await storage.close();
  expect(told).toHaveLength(1);

  await using again = await openSqlite({ file });
  const [last] = await again.audit.list({ limit: 1 });
  expect(last?.subject).toMatch(/^(large 59|in flight)$/);
});

it('a store that is closed has not failed', async () => {
  const storage = await openSqlite({ file: newFile() });
  let told = 0;
  storage.onFatal?.(() => (told += 1));
  const late = storage.close().then(() => storage.keys.list());
  await expect(late).rejects.toThrow('The store has been closed.');
  expect(told).toBe(0);
});
