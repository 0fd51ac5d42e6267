import { setTimeout as delay } from 'node:timers/promises';

import { expect, it } from 'vitest';

import { freshSchema } from '../support/fresh-schema.ts';
import { monotonicMs } from './audit-log.ts';
import type { Evidence } from './evidence.ts';
import { type PartitionProxy, startPartitionProxy } from './partition-proxy.ts';
import type { SeededRandom } from './seeded-random.ts';
import { AWAY_MS, smallestMargin, takenOver, takeoverScenario } from './takeover-scenario.ts';

/** Two services, one of them with a bad line to the database. */
const partition = async (
  name: string,
  rounds: number,
  disturb: (proxy: PartitionProxy, random: SeededRandom) => Promise<void>,
): Promise<Evidence> => {
  const place = freshSchema();
  await using proxy = await startPartitionProxy(place.url);
  return await takeoverScenario({
    name,
    rounds,
    store: () => ({ kind: 'postgres', ...place }),
    startBoth: (world) => [world.start({ store: { kind: 'postgres', ...place, url: proxy.url } }), world.start()],
    disturb: async (world, { pid }) => {
      const from = monotonicMs();
      await disturb(proxy, world.random);
      world.disturbances.cutOff(pid, from, monotonicMs());
    },
  });
};

it('a service that hears nothing from PostgreSQL stops its own runs before another takes over', async () => {
  const evidence = await partition('silent line to PostgreSQL', 2, async (proxy) => {
    proxy.silence();
    await delay(AWAY_MS);
    proxy.heal();
  });
  expect(takenOver(evidence)).toBeGreaterThan(0);
  expect(smallestMargin(evidence)).toBeGreaterThan(0);
});

it('a service whose connections to PostgreSQL are all dead stops its own runs before another takes over', async () => {
  const evidence = await partition('dead lines to PostgreSQL', 2, async (proxy) => {
    proxy.sever();
    await delay(AWAY_MS);
    proxy.heal();
  });
  expect(takenOver(evidence)).toBeGreaterThan(0);
  expect(smallestMargin(evidence)).toBeGreaterThan(0);
});

it('a service whose connections to PostgreSQL break again and again loses nothing and doubles nothing', async () => {
  const breaks = 60;
  await partition('flapping line to PostgreSQL', 2, async (proxy, random) => {
    for (let times = 0; times < breaks; times += 1) {
      proxy.sever();
      proxy.heal();
      await delay(random.between(20, 250));
    }
  });
});
