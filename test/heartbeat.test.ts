import { setTimeout } from 'node:timers/promises';

import { openStore, type TaskStore } from 'sealane/store';
import { expect, it, onTestFinished } from 'vitest';

import { withTasks } from './support/changed-tasks.ts';
import { openService } from './support/service.ts';

/** A service on a store that it shares with others, whose calls the test sees and may slow down. */
const openShared = async (options: {
  readonly change: (tasks: TaskStore) => Partial<TaskStore>;
  readonly pollMs: number;
}): Promise<void> => {
  const storage = await openStore('memory');
  onTestFinished(() => storage.close());
  const store = withTasks(storage, (tasks) => ({ ...options.change(tasks), exclusive: false }));
  const settings = { leaseMs: 600_000, renewMs: 600_000, pollMs: options.pollMs };
  const service = await openService({ store, settings });
  onTestFinished(() => service.close());
};

it('a heartbeat waits for the one before it, however slow the store is', async () => {
  let now = 0;
  let mostAtOnce = 0;
  let calls = 0;
  const sixth = Promise.withResolvers<void>();
  await openShared({
    pollMs: 20,
    change: (tasks) => ({
      reap: async (...args) => {
        calls += 1;
        if (calls === 6) sixth.resolve();
        now += 1;
        mostAtOnce = Math.max(mostAtOnce, now);
        await setTimeout(100);
        now -= 1;
        return await tasks.reap(...args);
      },
    }),
  });
  await sixth.promise;
  expect(mostAtOnce).toBe(1);
});

it('a heartbeat claims nothing when nothing has changed', async () => {
  let claims = 0;
  let calls = 0;
  const fourth = Promise.withResolvers<number>();
  await openShared({
    pollMs: 60_000,
    change: (tasks) => ({
      claim: async (...args) => {
        claims += 1;
        return await tasks.claim(...args);
      },
      reap: async (...args) => {
        calls += 1;
        // The first is that of the start.
        if (calls === 4) fourth.resolve(claims);
        return await tasks.reap(...args);
      },
    }),
  });
  expect(await fourth.promise).toBe(1);
});
