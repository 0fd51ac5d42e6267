import { openStore, type Storage } from 'sealane/store';
import { expect, it } from 'vitest';

import { withTasks } from './support/changed-tasks.ts';
import { freshSchema } from './support/fresh-schema.ts';
import { createGateAgent } from './support/gate-agent.ts';
import { open as openPostgres } from './support/postgres-stores.ts';
import { openService } from './support/service.ts';

/** A storage that counts how often a whole task is loaded. */
const counting = (storage: Storage) => {
  const loads: string[] = [];
  const store = withTasks(storage, (tasks) => ({
    find: (scope, id) => {
      loads.push(id);
      return tasks.find(scope, id);
    },
  }));
  return { store, loads };
};

const CHUNK = 'x'.repeat(512 * 1024);

it('a large task is not loaded by a message that refers to it, nor by a follow-up, and once by a cancel', async () => {
  await using storage = await openStore('memory');
  const { store, loads } = counting(storage);
  const gate = createGateAgent();
  await using service = await openService({ store, agents: { gate: gate.connector } });
  const { client } = service;
  const task = await client.submit('large');
  const run = await gate.started('large');
  for (let n = 0; n < 8; n += 1) {
    const artifact = { artifactId: 'a', parts: [{ text: CHUNK }] };
    await run.io.emit({ kind: 'artifact', artifact, append: n > 0 });
  }
  await expect.poll(async () => (await storage.tasks.peek('all', task.id))?.seq).toBe(10);

  loads.length = 0;
  const referenceTaskIds = Array.from({ length: 100 }, () => task.id);
  await client.call('SendMessage', {
    message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'refers' }], referenceTaskIds },
    configuration: { returnImmediately: true },
  });
  expect(loads).toEqual([]);
  expect((await client.cancel(task.id)).status.state).toBe('TASK_STATE_CANCELED');
  expect(loads.length).toBeLessThan(2);
});

it('a caller who waits for a run on another instance does not load its task at every chunk', async () => {
  const place = freshSchema();
  const here = await openPostgres(place);
  const { store, loads } = counting(await openPostgres(place));
  const calls: string[] = [];
  const peeking = withTasks(store, (tasks) => ({
    peek: (scope, id) => {
      calls.push(id);
      return tasks.peek(scope, id);
    },
  }));
  const gate = createGateAgent();
  const agents = { gate: gate.connector };
  await using one = await openService({ store: here, agents });
  await using two = await openService({ store: peeking, agents, settings: { slots: 0 } });
  const idempotency = { headers: { 'idempotency-key': 'the same' }, messageId: 'm' };
  const first = one.client.send('work', idempotency);
  const run = await gate.started('work');
  const second = two.client.send('work', idempotency);
  // The second has found the task of the first, which it waits for.
  await expect.poll(() => calls.length).toBeGreaterThan(0);
  for (let n = 0; n < 40; n += 1) {
    await run.io.emit({ kind: 'artifact', artifact: { artifactId: 'a', parts: [{ text: `${n} ` }] }, append: n > 0 });
    await new Promise((resolve) => setImmediate(resolve));
  }
  run.end();
  expect((await second).id).toBe((await first).id);
  expect((await second).status.state).toBe('TASK_STATE_COMPLETED');
  expect(loads.length).toBeLessThan(3);
});
