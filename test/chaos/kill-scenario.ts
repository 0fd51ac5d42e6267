import { setTimeout as delay } from 'node:timers/promises';

import { type ChaosWorld, createWorld, type WorldOptions } from './chaos-world.ts';
import type { Evidence } from './evidence.ts';
import { createLoad } from './load.ts';
import type { ServiceProcess } from './service-process.ts';

const SETTLE_MS = 30_000;

/**
 * Services under load are killed at random moments, `kills` times; sometimes all at once, sometimes again while they
 * start. After each time everything is given the chance to settle, and every promise is checked.
 */
export const killScenario = async (
  options: WorldOptions & { readonly kills: number; readonly instances: number },
): Promise<Evidence> => {
  await using world = await createWorld(options);
  const { random } = world;
  let alive = Array.from({ length: options.instances }, () => world.start());
  await Promise.all(alive.map(({ ready }) => ready));
  await using load = createLoad({
    ledger: world.ledger,
    random: random.fork('load'),
    target: world.target,
    lanes: { fail: 5, retry: 5 },
    pauseMs: [20, 120],
  });
  let evidence: Evidence | undefined;
  for (let kills = 0; kills < options.kills;) {
    load.resume();
    await delay(random.between(100, 900));
    const before = kills;
    const victims = random.chance(0.2) ? alive : [random.pick(alive)];
    alive = await replace(world, alive, victims);
    kills += victims.length;
    // Whoever is just starting is not spared: it may be in the middle of taking over what the last one left.
    while (kills < options.kills && random.chance(0.3)) {
      const victim = alive.at(-1);
      if (!victim) break;
      await delay(random.between(0, 1500));
      alive = await replace(world, alive, [victim]);
      kills += 1;
    }
    await load.pause();
    await world.settle(SETTLE_MS);
    evidence = await world.check();
    world.say(`${kills} of ${options.kills} kills (+${kills - before}), ${summaryOf(evidence)}`);
  }
  if (!evidence) throw new Error('Nothing was killed, so nothing was tested.');
  return evidence;
};

const replace = async (
  world: ChaosWorld,
  alive: readonly ServiceProcess[],
  victims: readonly ServiceProcess[],
): Promise<ServiceProcess[]> => {
  await Promise.all(victims.map((victim) => victim.kill()));
  return [...alive.filter((service) => !victims.includes(service)), ...victims.map(() => world.start())];
};

export const summaryOf = ({ tasks, ledger }: Evidence): string => {
  const count = (is: (task: Evidence['tasks'][number]) => boolean): number => tasks.filter(is).length;
  const interrupted = count(({ events }) =>
    events.some(({ event }) => event.kind === 'turn-ended' && event.reason === 'interrupted'),
  );
  const exhausted = count(({ events }) =>
    events.some(({ event }) => event.kind === 'run-started' && event.attempt === 3),
  );
  const retried = count(({ events }) => events.some(({ event }) => event.kind === 'run-lost'));
  const acknowledged = ledger.sent.filter(({ taskId }) => taskId !== undefined).length;
  const told = [...ledger.events.values()].reduce((sum, events) => sum + events.size, 0);
  return (
    `${tasks.length} tasks (${count(({ state }) => state === 'completed')} completed, ${interrupted} interrupted, ` +
    `${retried} retried, ${exhausted} of them to the third attempt, ${count(({ state }) => state === 'canceled')} canceled), ` +
    `${acknowledged} of ${ledger.sent.length} messages acknowledged, ${told} events told: all kept`
  );
};
