import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { expect, it } from 'vitest';

import { freshSchema } from '../support/fresh-schema.ts';
import { createWorld } from './chaos-world.ts';
import { createLoad } from './load.ts';
import { summaryOf } from './kill-scenario.ts';
import { AWAY_MS, takenOver, takeoverScenario } from './takeover-scenario.ts';

it('on SQLite a machine that sleeps longer than any lease or timeout loses nothing and runs nothing twice', async () => {
  await using world = await createWorld({
    name: 'sleep on SQLite',
    store: (folder) => ({ kind: 'sqlite', file: join(folder, 'data', 'sealane.db') }),
    configOf: () => ({ taskTimeoutMs: 4000 }),
    mayTimeOut: true,
  });
  const service = world.start();
  await service.ready;
  await using load = createLoad({
    ledger: world.ledger,
    random: world.random.fork('load'),
    target: world.target,
    lanes: { fail: 5, retry: 5 },
    orderOf: (random) => `work ${random.between(10, 1000)} 5`,
    pauseMs: [50, 300],
  });
  for (let round = 1; round <= 2; round += 1) {
    load.resume();
    await delay(world.random.between(1000, 2000));
    service.pause();
    await delay(AWAY_MS);
    service.resume();
    await load.pause();
    await world.settle(30_000);
    const evidence = await world.check();
    const timedOut = evidence.tasks.filter(({ events }) =>
      events.some(({ event }) => event.kind === 'turn-ended' && event.reason === 'timeout'),
    ).length;
    world.say(`slept ${round} times, ${timedOut} timed out, ${summaryOf(evidence)}`);
    expect(timedOut).toBeGreaterThan(0);
  }
});

it('on PostgreSQL a service that wakes up after another took over writes nothing', async () => {
  const place = freshSchema();
  const evidence = await takeoverScenario({
    name: 'sleep on PostgreSQL',
    rounds: 2,
    store: () => ({ kind: 'postgres', ...place }),
    startBoth: (world) => [world.start(), world.start()],
    disturb: async (_world, service) => {
      service.pause();
      await delay(AWAY_MS);
      service.resume();
    },
  });
  expect(takenOver(evidence)).toBeGreaterThan(0);
});
