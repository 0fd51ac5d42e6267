import { setTimeout as delay } from 'node:timers/promises';

import { describe, expect, it, onTestFinished } from 'vitest';

import { openStore, type Storage } from '#store';
import { openPostgres } from '#store/postgres/index';

import type { WireTask } from '../support/a2a-client.ts';
import { eventually } from '../support/eventually.ts';
import { freshSchema } from '../support/fresh-schema.ts';
import { createGateAgent } from '../support/gate-agent.ts';
import { openService } from '../support/service.ts';
import { withBarriers } from './barrier-store.ts';

/** How long a cancel may take at most: a second for the poll behind lost hints, and some for a busy machine. */
const PROMPT_MS = 4000;

const openWithHook = async (storage: Storage) => {
  onTestFinished(() => storage.close());
  /** Called when a turn has been started in the store, before the engine hears of it. */
  let hook: (() => Promise<void>) | undefined;
  const callHook = async (isStarted: boolean): Promise<void> => {
    if (!isStarted || !hook) return;
    const once = hook;
    hook = undefined;
    await once();
  };
  const gate = createGateAgent();
  const service = await openService({
    agents: { gate: { connector: gate.connector } },
    settings: { cancelGraceMs: 30_000 },
    store: withBarriers(storage, (tasks) => ({
      claim: async (request) => {
        const claimed = await tasks.claim(request);
        await callHook(claimed.length > 0);
        return claimed;
      },
      follow: async (followUp) => {
        const followed = await tasks.follow(followUp);
        await callHook(followed.ok && followed.value.run !== undefined);
        return followed;
      },
    })),
  });
  onTestFinished(() => service.close());
  const { client } = service;
  let canceling: Promise<WireTask> | undefined;
  return {
    gate,
    client,
    /** Cancels the task when its turn has started in the store and nowhere else. */
    cancelAtStart: (id: string) => {
      hook = async () => {
        canceling = client.cancel(id);
        await eventually(async () => {
          const events = await storage.tasks.read('all', id, 0, 100);
          expect(events.map(({ event }) => event.kind)).toContain('cancel-requested');
        });
        // The answer to the cancel is on its way to the engine; let it arrive first.
        await delay(50);
      };
    },
    canceled: async () => await canceling,
  };
};

const STORES: Record<string, () => Promise<Storage>> = {
  memory: () => openStore('memory'),
  PostgreSQL: () => openPostgres(freshSchema()),
};

describe.each(Object.keys(STORES))('on %s a cancel between claim and start', (name) => {
  const open = async () => {
    const make = STORES[name];
    if (!make) throw new Error(`There is no store ${name}.`);
    return await openWithHook(await make());
  };

  it('stops a turn that was waiting', async () => {
    const { gate, client, cancelAtStart, canceled } = await open();
    await client.submit('a', { contextId: 'x' });
    const task = await client.submit('b', { contextId: 'x' });
    cancelAtStart(task.id);
    (await gate.started('a')).end();
    await eventually(
      async () => expect((await client.get(task.id)).status.state).toBe('TASK_STATE_CANCELED'),
      PROMPT_MS,
    );
    expect((await canceled())?.status.state).toBe('TASK_STATE_CANCELED');
    await client.submit('c', { contextId: 'x' });
    (await gate.started('c')).end();
  });

  it('stops the answer to a question', async () => {
    const { gate, client, cancelAtStart, canceled } = await open();
    const task = await client.submit('ask', { contextId: 'x' });
    (await gate.started('ask')).end({ state: 'input-required' });
    await eventually(async () => expect((await client.get(task.id)).status.state).toBe('TASK_STATE_INPUT_REQUIRED'));
    cancelAtStart(task.id);
    await client.submit('answer', { taskId: task.id });
    await eventually(
      async () => expect((await client.get(task.id)).status.state).toBe('TASK_STATE_CANCELED'),
      PROMPT_MS,
    );
    expect((await canceled())?.status.state).toBe('TASK_STATE_CANCELED');
  });
});
