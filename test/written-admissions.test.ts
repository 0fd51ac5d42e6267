import { SealaneError } from 'sealane';
import { openStore, type Storage } from 'sealane/store';
import { expect, it } from 'vitest';

import { createGateAgent } from './support/gate-agent.ts';
import { openService } from './support/service.ts';

/** A store whose admissions are written at once, and durable when the test says so. */
const slowToTheDisk = (storage: Storage) => {
  const disk = Promise.withResolvers<void>();
  let isLost = false;
  disk.promise.catch(() => (isLost = true));
  const store: Storage = {
    ...storage,
    tasks: {
      ...storage.tasks,
      admit: async (admission, when) => {
        const admitted = await storage.tasks.admit(admission);
        return admitted.ok && when === 'written'
          ? { ok: true, value: { ...admitted.value, durable: disk.promise } }
          : admitted;
      },
      find: async (scope, id) => (isLost ? undefined : await storage.tasks.find(scope, id)),
    },
  };
  return { store, disk };
};

/** What has happened by the time that everything has had its chance. */
const soon = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 50));

const opened = async (remembersFirst: boolean, settings: { readonly waitMs?: number } = {}) => {
  const storage = await openStore('memory');
  const gate = createGateAgent();
  const { store, disk } = slowToTheDisk(storage);
  const agents = { gate: { connector: { ...gate.connector, remembersFirst }, concurrency: 8 } };
  const service = await openService({ store, agents, settings });
  return {
    gate,
    disk,
    service,
    [Symbol.asyncDispose]: async () => {
      await service.close();
      await storage.close();
    },
  };
};

it('the run of an agent that remembers first begins before its task is on the disk, and nobody hears of it until it is', async () => {
  await using own = await opened(true);
  const { gate, disk, service } = own;
  const heard: string[] = [];
  const told = async (name: string, call: Promise<unknown>): Promise<void> => {
    await call;
    heard.push(name);
  };
  const calls = [
    told('submitted', service.client.submit('submitted')),
    told('sent', service.client.send('sent')),
    told('streamed', service.client.stream('streamed')),
  ];
  const runs = await Promise.all(['submitted', 'sent', 'streamed'].map((text) => gate.started(text)));
  await soon();
  expect(heard).toEqual([]);
  disk.resolve();
  await expect.poll(() => heard.toSorted()).toEqual(['streamed', 'submitted']);
  for (const run of runs) run.end();
  await Promise.all(calls);
  expect(heard).toContain('sent');
});

it('who has waited long enough for the end of a task waits for the disk all the same', async () => {
  await using own = await opened(true, { waitMs: 10 });
  const { disk, service } = own;
  let state: string | undefined;
  const sent = service.client.send('sent').then((task) => (state = task.status.state));
  await soon();
  expect(state).toBeUndefined();
  disk.resolve();
  expect(await sent).toBe('TASK_STATE_WORKING');
});

it('a caller whose task does not reach the disk is told so, and does not wait for its end', async () => {
  await using own = await opened(true);
  const { gate, disk, service } = own;
  const texts = ['submitted', 'sent'] as const;
  const calls = Promise.allSettled([service.client.submit(texts[0]), service.client.send(texts[1])]);
  await Promise.all(texts.map((text) => gate.started(text)));
  disk.reject(new SealaneError('unavailable', 'The disk is gone.'));
  for (const call of await calls) {
    expect(call).toMatchObject({
      status: 'rejected',
      reason: { message: expect.stringContaining('The disk is gone.') },
    });
  }
});

it('an agent that does not say so does not begin before', async () => {
  await using own = await opened(false);
  const { gate, service } = own;
  // Its admission is durable when it is answered, and so needs no word of this disk.
  const sent = service.client.send('as ever');
  (await gate.started('as ever')).end();
  expect((await sent).status.state).toBe('TASK_STATE_COMPLETED');
});
