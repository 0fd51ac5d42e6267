import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { createWorld } from './chaos-world.ts';
import { summaryOf } from './kill-scenario.ts';
import { createLoad } from './load.ts';
import { preparePowerLoss } from './power-loss.ts';

export interface PowerLossTally {
  /** Writes that were not synced when the power went, over all rounds. */
  readonly unsynced: number;
  readonly lost: number;
  /** How often pages were copied from the WAL into the database, and synced there. */
  readonly checkpoints: number;
  /** How often the WAL was begun anew before the database was synced: its pages were nowhere safe then. */
  readonly unsafeCheckpoints: number;
}

/** A service on SQLite loses its power under load, `rounds` times; nothing that it has acknowledged may be missing. */
export const powerLossScenario = async (options: {
  readonly name: string;
  readonly rounds: number;
  readonly synchronous: 'FULL' | 'NORMAL' | 'OFF';
}): Promise<PowerLossTally> => {
  const dbOf = (folder: string): string => join(folder, 'data', 'sealane.db');
  await using world = await createWorld({
    name: options.name,
    store: (folder) => ({ kind: 'sqlite', file: dbOf(folder), synchronous: options.synchronous }),
    isSabotaged: options.synchronous !== 'FULL',
  });
  const { random } = world;
  const power = preparePowerLoss(world.folder, dbOf(world.folder));
  let service = world.start({ env: power.env });
  await service.ready;
  await using load = createLoad({
    ledger: world.ledger,
    random: random.fork('load'),
    target: world.target,
    lanes: { fail: 8, retry: 8 },
    orderOf: (draw) => (draw.chance(0.15) ? `huge ${draw.between(20_000, 200_000)}` : `work ${draw.between(0, 10)} 2`),
    // As fast as it goes: the WAL must fill up for a checkpoint to come.
    pauseMs: [0, 5],
  });
  let [unsynced, lost] = [0, 0];
  for (let round = 1; round <= options.rounds; round += 1) {
    load.resume();
    await delay(random.between(500, 2000));
    await service.kill();
    // A disk may lose everything that was not synced, or any part of it.
    const loses = round % 2 === 1 ? 1 : 0.5;
    const struck = power.strike(() => !random.chance(loses));
    unsynced += struck.unsynced;
    lost += struck.lost;
    service = world.start({ env: power.env });
    await load.pause();
    await world.settle(30_000);
    const evidence = await world.check();
    world.say(
      `lost power ${round} times, ${struck.lost} of ${struck.unsynced} writes that were not synced; ${summaryOf(evidence)}`,
    );
  }
  const syncs = power.syncs();
  const count = (file: string): number => syncs.filter((sync) => sync.file === file).length;
  return { unsynced, lost, checkpoints: count('db'), unsafeCheckpoints: count('wal-begun-before-db-was-synced') };
};
