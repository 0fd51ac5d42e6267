import { setTimeout as delay } from 'node:timers/promises';

import { createEchoAgent } from 'sealane';
import type { Storage } from 'sealane/store';
import { describe, expect, it } from 'vitest';

import { freshSchema } from '../support/fresh-schema.ts';
import { connectBeside, open } from '../support/postgres-stores.ts';
import { openService } from '../support/service.ts';

/** The same storage, whose leases cannot be renewed for as many times as `failures` says. */
const withFailingRenewals = (storage: Storage, failures: { left: number }): Storage => ({
  ...storage,
  tasks: {
    ...storage.tasks,
    renew: async (...args) => {
      if (failures.left > 0) {
        failures.left -= 1;
        throw new Error('The database is away.');
      }
      return storage.tasks.renew(...args);
    },
  },
});

describe('the lease of an instance', () => {
  it('outlives a database that is away for two renewals, and so do the runs', async () => {
    const failures = { left: 0 };
    const store = withFailingRenewals(await open(freshSchema()), failures);
    await using service = await openService({
      store,
      agents: { echo: createEchoAgent() },
      // The lease is valid for 1.4 s, so the second beat is the last that could save it.
      settings: { leaseMs: 2400, renewMs: 600 },
    });
    failures.left = 2;
    const task = await service.client.send('@sleep 2000');
    expect(failures.left).toBe(0);
    expect(task.status.state).toBe('TASK_STATE_COMPLETED');
  });

  it('is renewed while every connection of the pool waits for a row that somebody holds', async () => {
    const options = freshSchema();
    await using service = await openService({
      store: await open({ ...options, poolSize: 2 }),
      agents: { echo: createEchoAgent() },
      // Valid for two seconds.
      settings: { leaseMs: 3000, renewMs: 300 },
    });
    const quiet = await service.client.submit('@sleep 3000');
    await service.client.submit('@sleep 3000', { contextId: 'held' });
    const other = await connectBeside(options.url);
    await other.query(`SET search_path TO ${options.schema}; BEGIN; SELECT 1 FROM lanes FOR UPDATE`);
    const waiting = [1, 2, 3].map(() => service.client.submit('hello', { contextId: 'held' }));
    await delay(2600);
    await other.query('COMMIT');
    await Promise.all(waiting);
    await expect
      .poll(async () => (await service.client.get(quiet.id)).status.state, { timeout: 5000 })
      .toBe('TASK_STATE_COMPLETED');
  });
});
