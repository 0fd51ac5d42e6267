import { setTimeout as delay } from 'node:timers/promises';

import { expect, it } from 'vitest';

import { freshSchema } from '../support/fresh-schema.ts';
import { monotonicMs } from './audit-log.ts';
import { type PartitionProxy, startPartitionProxy } from './partition-proxy.ts';
import { AWAY_MS, takeoverScenario } from './takeover-scenario.ts';

const partition = async (name: string, cut: (proxy: PartitionProxy) => void): Promise<number> => {
  const place = freshSchema();
  await using proxy = await startPartitionProxy(place.url);
  const { takenOver } = await takeoverScenario({
    name,
    rounds: 3,
    store: () => ({ kind: 'postgres', ...place }),
    startBoth: (world) => [
      world.start({ store: { kind: 'postgres', ...place, url: proxy.url } }),
      world.start(),
    ],
    disturb: async (world, { pid }) => {
      const from = monotonicMs();
      cut(proxy);
      await delay(AWAY_MS);
      proxy.heal();
      world.disturbances.cutOff(pid, from, monotonicMs());
    },
  });
  return takenOver;
};

it('a service that hears nothing from PostgreSQL stops its own runs before another takes over', async () => {
  expect(await partition('silent line to PostgreSQL', (proxy) => proxy.silence())).toBeGreaterThan(0);
});

it('a service whose connections to PostgreSQL are all dead stops its own runs before another takes over', async () => {
  expect(await partition('dead lines to PostgreSQL', (proxy) => proxy.sever())).toBeGreaterThan(0);
});
