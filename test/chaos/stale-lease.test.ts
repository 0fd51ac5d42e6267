import { setTimeout as delay } from 'node:timers/promises';

import { expect, it, onTestFinished } from 'vitest';

import type { TaskStore } from '#store';
import { openPostgres } from '#store/postgres/index';

import { eventually } from '../support/eventually.ts';
import { freshSchema } from '../support/fresh-schema.ts';
import { createGateAgent } from '../support/gate-agent.ts';
import { openService } from '../support/service.ts';
import { createBarrier, withBarriers } from './barrier-store.ts';

const SETTINGS = { leaseMs: 2000, renewMs: 100, pollMs: 50, retryMs: 10, janitorMs: 600_000 };

/**
 * Two services on one database. The first loses its lease, as by a bad line, and gets another one, while one of its
 * calls is still on its way.
 */
const openTwo = async (barriers: (tasks: TaskStore) => Partial<TaskStore>) => {
  const place = freshSchema();
  const gate = createGateAgent();
  const agents = { gate: { connector: gate.connector, recovery: 'retry' as const } };
  const open = async (change: (tasks: TaskStore) => Partial<TaskStore>) => {
    const storage = await openPostgres(place);
    onTestFinished(() => storage.close());
    const service = await openService({ agents, settings: SETTINGS, store: withBarriers(storage, change) });
    onTestFinished(() => service.close());
    return service;
  };
  let isCutOff = false;
  const instances: string[] = [];
  const first = await open((tasks) => ({
    renew: async (instance, leaseMs) => {
      if (isCutOff) throw new Error('The line is dead.');
      const renewed = await tasks.renew(instance, leaseMs);
      if (renewed.ok && instances.at(-1) !== instance) instances.push(instance);
      return renewed;
    },
    ...barriers(tasks),
  }));
  return {
    gate,
    client: first.client,
    openSecond: () => open(() => ({})),
    /** Resolves when the first service has lost its lease and has another. */
    exchangeLease: async () => {
      const known = instances.length;
      isCutOff = true;
      await delay(SETTINGS.leaseMs);
      isCutOff = false;
      await eventually(() => expect(instances.length).toBeGreaterThan(known));
    },
  };
};

it('a turn that was admitted under a lease that is lost does not run beside whoever takes it over', async () => {
  const barrier = createBarrier();
  const { gate, client, exchangeLease, openSecond } = await openTwo((tasks) => ({
    admit: async (admission) => {
      await barrier.pass();
      return await tasks.admit(admission);
    },
  }));
  const submitted = client.submit('a', { contextId: 'x' });
  await barrier.reached;
  await exchangeLease();
  await openSecond();
  barrier.open();
  const task = await submitted;
  await gate.started('a');
  await delay(1500);
  expect(gate.mostAtOnce()).toBe(1);
  (await gate.startedAt(gate.begun.length - 1)).end();
  await eventually(async () => expect((await client.get(task.id)).status.state).toBe('TASK_STATE_COMPLETED'));
}, 20_000);

it('a turn that was claimed under a lease that is lost does not run beside whoever takes it over', async () => {
  const barrier = createBarrier();
  let isLate = false;
  const { gate, client, exchangeLease, openSecond } = await openTwo((tasks) => ({
    claim: async (request) => {
      const claimed = await tasks.claim(request);
      if (isLate && claimed.length > 0) await barrier.pass();
      return claimed;
    },
  }));
  await client.submit('a', { contextId: 'x' });
  const task = await client.submit('b', { contextId: 'x' });
  isLate = true;
  (await gate.started('a')).end();
  await barrier.reached;
  await exchangeLease();
  isLate = false;
  await openSecond();
  barrier.open();
  await gate.started('b');
  await delay(1500);
  expect(gate.mostAtOnce()).toBe(1);
  (await gate.startedAt(gate.begun.length - 1)).end();
  await eventually(async () => expect((await client.get(task.id)).status.state).toBe('TASK_STATE_COMPLETED'));
}, 20_000);
