import { expect, it, onTestFinished } from 'vitest';

import { openStore, type TaskStore } from '#store';

import { createLease } from './lease.ts';

/** A lease of a store that is shared, whose renewals are answered when the test wants. */
const openLease = async (onRenew: () => Promise<void>) => {
  const storage = await openStore('memory');
  onTestFinished(() => storage.close());
  const { tasks } = storage;
  const store: TaskStore = {
    ...tasks,
    exclusive: false,
    renew: async (...args) => {
      const renewed = await tasks.renew(...args);
      await onRenew();
      return renewed;
    },
  };
  const lost: string[] = [];
  let names = 0;
  const newId = () => `instance-${(names += 1)}`;
  const lease = createLease({ store, newId, leaseMs: 1500, renewMs: 10, onLost: (instance) => lost.push(instance) });
  return { lease, tasks, lost };
};

it('a lease that was given up stays given up when a renewal is answered late', async () => {
  const second = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  let renewals = 0;
  const { lease, tasks, lost } = await openLease(async () => {
    renewals += 1;
    if (renewals === 1) return;
    second.resolve();
    await answer.promise;
  });
  await lease.start();
  expect(lease.isValid()).toBe(true);
  await second.promise;
  await lease.stop();
  answer.resolve();
  await new Promise(setImmediate);
  expect(lease.isValid()).toBe(false);
  expect(await tasks.renew('instance-1', 1500)).toEqual({ ok: false, why: 'lost' });
  // Longer than the lease would have lasted: nobody watches it any more.
  await new Promise((resolve) => setTimeout(resolve, 700));
  expect(lost).toEqual([]);
});
