import type { Storage } from 'sealane/store';
import { describe, expect, it } from 'vitest';

import { freshSchema } from '../support/fresh-schema.ts';
import { createGateAgent } from '../support/gate-agent.ts';
import { connectBeside, open } from '../support/postgres-stores.ts';
import { openService } from '../support/service.ts';

interface Renewals {
  /** How many of the next ones fail. */
  failing: number;
  /** How many have succeeded. */
  done: number;
}

/** The same storage, whose renewals are counted, and fail when the test wants it. */
const withRenewals = (storage: Storage, renewals: Renewals): Storage => ({
  ...storage,
  tasks: {
    ...storage.tasks,
    renew: async (...args) => {
      if (renewals.failing > 0) {
        renewals.failing -= 1;
        throw new Error('The database is away.');
      }
      const renewed = await storage.tasks.renew(...args);
      if (renewed.ok) renewals.done += 1;
      return renewed;
    },
  },
});

/** The connections that wait for a row of this table. */
const WAITING = `
  SELECT DISTINCT pid FROM pg_locks JOIN pg_stat_activity USING (pid)
  WHERE relation = $1::regclass AND wait_event_type = 'Lock'`;

describe('the lease of an instance', () => {
  it('outlives a database that is away for two renewals, and so do the runs', async () => {
    const renewals = { failing: 0, done: 0 };
    const gate = createGateAgent();
    await using service = await openService({
      store: withRenewals(await open(freshSchema()), renewals),
      agents: { gate: { connector: gate.connector } },
      // The lease is valid for 4 s, so the second beat would be too late to save it.
      settings: { leaseMs: 5000, renewMs: 2000 },
    });
    const working = service.client.send('work');
    const run = await gate.started('work');
    const { done } = renewals;
    renewals.failing = 2;
    await expect.poll(() => renewals.done).toBeGreaterThan(done);
    expect(renewals.failing).toBe(0);
    run.end();
    expect((await working).status.state).toBe('TASK_STATE_COMPLETED');
  });

  it('is renewed while every connection of the pool waits for a row that somebody holds', async () => {
    const { url, schema } = freshSchema();
    const renewals = { failing: 0, done: 0 };
    const gate = createGateAgent();
    await using service = await openService({
      store: withRenewals(await open({ url, schema, poolSize: 2 }), renewals),
      agents: { gate: { connector: gate.connector } },
      // Valid for five seconds.
      settings: { leaseMs: 6000, renewMs: 300 },
    });
    const working = service.client.send('quiet');
    const held = service.client.send('held', { contextId: 'held' });
    const runs = await Promise.all([gate.started('quiet'), gate.started('held')]);
    const other = await connectBeside(url);
    await other.query(`SET search_path TO ${schema}; BEGIN; SELECT 1 FROM lanes FOR UPDATE`);
    const waiting = [1, 2, 3].map((number) => service.client.submit(`hello ${number}`, { contextId: 'held' }));
    const beside = await connectBeside(url);
    await expect
      .poll(async () => (await beside.query(WAITING, [`${schema}.lanes`])).rowCount, { interval: 20 })
      .toBe(2);
    const { done } = renewals;
    await expect.poll(() => renewals.done).toBeGreaterThan(done + 3);
    await other.query('COMMIT');
    await Promise.all(waiting);
    for (const run of runs) run.end();
    for (const task of await Promise.all([working, held])) expect(task.status.state).toBe('TASK_STATE_COMPLETED');
  });
});
