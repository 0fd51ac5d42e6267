import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';

import { expect, it } from 'vitest';

import { answerOf, refusalOf } from './support/a2a-client.ts';
import { isState } from './support/event-stream.ts';
import { eventually } from './support/eventually.ts';
import { freshFolder, serve } from './support/served-process.ts';

const UNAVAILABLE = -32020;

/** Another process, this one, that takes the write lock of the database of a running service. */
const lockDatabase = (folder: string): { unlock(): void } & Disposable => {
  // The service gives its lock up for moments only.
  const database = new DatabaseSync(join(folder, 'sealane.db'), { timeout: 10_000 });
  database.exec('BEGIN IMMEDIATE');
  return {
    unlock: () => database.exec('ROLLBACK'),
    [Symbol.dispose]: () => database.close(),
  };
};

it('while another process holds the database for seven seconds runs go on, reads are answered, and a cancel waits', async () => {
  using folder = freshFolder();
  await using service = await serve(folder.path);
  const { client } = service;
  const stream = await client.stream('@stream 200 40');
  await stream.until(({ artifactUpdate }) => artifactUpdate !== undefined);
  const sleeping = await client.submit('@sleep 600000', { contextId: 'x' });
  const waiting = await client.submit('after you', { contextId: 'x' });

  using lock = lockDatabase(folder.path);
  const lockedAt = performance.now();
  const sends = Array.from({ length: 32 }, (_, n) =>
    client.submit(`hello ${n}`).then(
      (task) => task,
      (error: unknown) => error,
    ),
  );
  await delay(500);
  const readAt = performance.now();
  expect((await client.get(sleeping.id)).status.state).toBe('TASK_STATE_WORKING');
  expect((await client.list({ pageSize: 5 })).totalSize).toBe(3);
  expect(performance.now() - readAt).toBeLessThan(1500);

  const refused = await refusalOf(client.submit('one more'));
  expect(refused).toMatchObject({ code: UNAVAILABLE, message: expect.stringMatching(/locked by another program/) });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  const sent = await Promise.all(sends);
  expect(performance.now() - lockedAt).toBeLessThan(7000);
  expect(sent.map(String)).toEqual(Array.from({ length: 32 }, () => expect.stringMatching(/locked by another/)));
  const canceled = client.cancel(sleeping.id);
  await delay(lockedAt + 7000 - performance.now());
  lock.unlock();

  const unlockedAt = performance.now();
  expect((await client.submit('free again', { contextId: 'y' })).status.state).not.toBe('TASK_STATE_REJECTED');
  expect((await canceled).status.state).toBe('TASK_STATE_CANCELED');
  expect(performance.now() - unlockedAt).toBeLessThan(2000);
  const { taskId } = (await stream.until(isState('TASK_STATE_COMPLETED'))).statusUpdate!;
  expect(answerOf(await client.get(taskId)).match(/chunk/g)).toHaveLength(200);
  await eventually(async () => expect((await client.get(waiting.id)).status.state).toBe('TASK_STATE_COMPLETED'));
  expect(service.log()).toContain('write lock');
});
