import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { beforeAll, describe, expect, it } from 'vitest';

import { openStore } from '#store';

import { freshSchema } from '../support/fresh-schema.ts';
import { withBarriers } from './barrier-store.ts';
import { raceCancels } from './cancel-races.ts';
import { createWorld, type WorldOptions } from './chaos-world.ts';
import { violationsOf } from './check-invariants.ts';
import { createDisturbances } from './disturbances.ts';
import type { Evidence, TaskEvidence } from './evidence.ts';
import { createLoad } from './load.ts';
import { seededRandom } from './seeded-random.ts';
import { AWAY_MS, takeoverScenario } from './takeover-scenario.ts';
import { tamperings } from './tamperings.ts';

const calmScenario = async (options: WorldOptions, ms: number): Promise<Evidence> => {
  await using world = await createWorld(options);
  await world.start().ready;
  await using load = createLoad({
    ledger: world.ledger,
    random: world.random.fork('load'),
    target: world.target,
    lanes: { fail: 4, retry: 4 },
    pauseMs: [5, 30],
  });
  load.resume();
  await delay(ms);
  await load.pause();
  await world.settle(20_000);
  return await world.check();
};

const sqlite: WorldOptions['store'] = (folder) => ({ kind: 'sqlite', file: join(folder, 'data', 'sealane.db') });

describe('the checker', () => {
  let evidence: Evidence;
  beforeAll(async () => {
    const calm = await calmScenario({ name: 'a calm day', store: sqlite }, 2000);
    // The service was killed when all was over; that is no excuse for what is going to be found.
    evidence = { ...calm, disturbances: createDisturbances() };
  });

  it('finds nothing where nothing was broken', () => {
    expect(violationsOf({ ...evidence, memory: new Map() })).toEqual([]);
  });

  it.each(tamperings)('finds $what', ({ tamper, finds }) => {
    const task = evidence.tasks.find((one) => isPlain(one) && !evidence.ledger.cancelsTried.has(one.id));
    if (!task) throw new Error('There is no completed task to tamper with.');
    const memory = new Map(evidence.memory);
    expect(violationsOf(tamper({ ...evidence, memory }, task)).join('\n')).toMatch(finds);
  });
});

/** Completed, with an answer of several chunks. */
const isPlain = ({ state, events }: TaskEvidence): boolean =>
  state === 'completed' && events.filter(({ event }) => event.kind === 'artifact-added').length > 1;

describe('a service that is broken on purpose is found out', () => {
  it('when runs of one lane meet', async () => {
    const options = {
      name: 'split lanes',
      store: sqlite,
      isSabotaged: true,
      configOf: () => ({ sabotage: 'split-lanes' as const }),
    };
    await expect(calmScenario(options, 2000)).rejects.toThrow(/Two runs at once in lane/);
  });

  it('when its store lets a lost run write', async () => {
    const place = freshSchema();
    const broken = takeoverScenario({
      name: 'a store without its fence',
      rounds: 1,
      // Deaf, so that it goes on when it wakes up; long, so that another attempt is going on elsewhere then.
      orderOf: () => 'stubborn 9000 60',
      pauseMs: [8000, 9000],
      onlyToVictim: true,
      isSabotaged: true,
      store: () => ({ kind: 'postgres', ...place }),
      configOf: () => ({ sabotage: 'no-fence' }),
      startBoth: (world) => [world.start(), world.start()],
      disturb: async (_world, service) => {
        service.pause();
        await delay(AWAY_MS);
        service.resume();
      },
    });
    await expect(broken).rejects.toThrow(/of another attempt|was lost and wrote all the same|was ended by attempt/);
  });

  it('when its store forgets cancels', async () => {
    const storage = withBarriers(await openStore('memory'), (tasks) => ({
      requestCancel: async (scope, id) => {
        const task = await tasks.find(scope, id);
        return task ? { ok: true, value: { task, events: [], outcome: 'asked' } } : { ok: false, why: 'absent' };
      },
    }));
    const { violations } = await raceCancels(200, seededRandom('forgotten cancels'), storage);
    await storage.close();
    expect(violations.join('\n')).toMatch(/its canceler was told neither|its cancel was accepted, and it is/);
  });
});
