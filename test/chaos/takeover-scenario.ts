import { setTimeout as delay } from 'node:timers/promises';

import { type ChaosWorld, createWorld, type WorldOptions } from './chaos-world.ts';
import type { Evidence } from './evidence.ts';
import { summaryOf } from './kill-scenario.ts';
import { auditedRuns } from './lane-rules.ts';
import { createLoad } from './load.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { ServiceProcess } from './service-process.ts';

/** Longer than the lease, so that the other one takes over, and its runs are still going on when the first comes back. */
export const AWAY_MS = 6000;
const SETTLE_MS = 40_000;

/** Long runs with many steps: whoever wakes up or is cut off is in the middle of something. */
const longWork = (random: SeededRandom): string =>
  random.chance(0.6) ? `work ${random.between(1500, 5000)} 40` : `work ${random.between(10, 300)} 3`;

/** Something is done to one of two services while it is busy; what it did is undone after a while. */
export const takeoverScenario = async (
  options: WorldOptions & {
    readonly rounds: number;
    readonly orderOf?: (random: SeededRandom) => string;
    readonly pauseMs?: readonly [low: number, high: number];
    /** All clients talk to the service that something is done to, so it surely has runs to lose. */
    readonly onlyToVictim?: boolean;
    readonly startBoth: (world: ChaosWorld) => readonly [ServiceProcess, ServiceProcess];
    /** Resolves when the service is back. */
    readonly disturb: (world: ChaosWorld, service: ServiceProcess, round: number) => Promise<void>;
  },
): Promise<Evidence> => {
  await using world = await createWorld(options);
  const [victim, other] = options.startBoth(world);
  await Promise.all([victim.ready, other.ready]);
  await using load = createLoad({
    ledger: world.ledger,
    random: world.random.fork('load'),
    target: options.onlyToVictim ? () => world.clientOf(victim) : world.target,
    lanes: { fail: 6, retry: 8 },
    orderOf: options.orderOf ?? longWork,
    pauseMs: options.pauseMs ?? [100, 800],
  });
  let evidence: Evidence | undefined;
  for (let round = 1; round <= options.rounds; round += 1) {
    load.resume();
    await delay(world.random.between(1500, 2500));
    await options.disturb(world, victim, round);
    await load.pause();
    await world.settle(SETTLE_MS);
    evidence = await world.check();
    world.say(`round ${round} of ${options.rounds}, ${takenOver(evidence)} runs taken over, ${summaryOf(evidence)}`);
  }
  if (!evidence) throw new Error('There was no round, so nothing was tested.');
  return evidence;
};

export const takenOver = ({ tasks }: Evidence): number =>
  tasks.filter(({ events }) =>
    events.some(
      ({ event }) => event.kind === 'run-lost' || (event.kind === 'turn-ended' && event.reason === 'interrupted'),
    ),
  ).length;

/** How long before the next run of its lane began a run was over that lost its lease: the smallest is what counts. */
export const smallestMargin = ({ audit }: Evidence): number => {
  const runs = auditedRuns(audit);
  const margins = runs
    .filter(({ how }) => how === 'aborted: lost')
    .flatMap((lost) => {
      const next = runs.find((run) => run.lane === lost.lane && run.from >= lost.from && run.pid !== lost.pid);
      return next && lost.to !== undefined ? [next.from - lost.to] : [];
    });
  return Math.min(...margins);
};
