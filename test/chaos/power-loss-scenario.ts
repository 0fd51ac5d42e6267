import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { type A2aClient, createA2aClient } from './a2a-client.ts';
import { createWorld } from './chaos-world.ts';
import { summaryOf } from './kill-scenario.ts';
import { createLoad } from './load.ts';
import { preparePowerLoss } from './power-loss.ts';

/** Nobody listens there. */
const NOWHERE = 'http://127.0.0.1:9';

export interface PowerLossTally {
  /** Writes that were not synced when the power went, over all rounds. */
  readonly unsynced: number;
  readonly lost: number;
  /** Those of them that were meant for the redo log. */
  readonly lostRedo: number;
  /** How often something was answered as soon as it was in the redo log. */
  readonly redoSyncs: number;
  /** How often the power went while a start began a new redo log. */
  readonly interruptedStarts: number;
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
  /** Broken on purpose: the redo log is lost with the power, synced or not. */
  readonly losesRedo?: boolean;
}): Promise<PowerLossTally> => {
  const dbOf = (folder: string): string => join(folder, 'data', 'sealane.db');
  await using world = await createWorld({
    name: options.name,
    store: (folder) => ({ kind: 'sqlite', file: dbOf(folder), synchronous: options.synchronous }),
    isSabotaged: options.synchronous !== 'FULL' || options.losesRedo === true,
  });
  const { random } = world;
  const power = preparePowerLoss(world.folder, dbOf(world.folder));
  let service = world.start({ env: power.env });
  await service.ready;
  const nobody = Promise.withResolvers<A2aClient>();
  await using load = createLoad({
    ledger: world.ledger,
    random: random.fork('load'),
    target: () => Promise.race([world.target(), nobody.promise]),
    lanes: { fail: 8, retry: 8 },
    orderOf: (draw) => (draw.chance(0.15) ? `huge ${draw.between(20_000, 200_000)}` : `work ${draw.between(0, 10)} 2`),
    // As fast as it goes: the WAL must fill up for a checkpoint to come.
    pauseMs: [0, 5],
  });
  let [unsynced, lost, lostRedo, interruptedStarts] = [0, 0, 0, 0];
  const strike = (loses: number): string => {
    const { database, redo } = power.strike(() => !random.chance(loses));
    if (options.losesRedo) rmSync(`${dbOf(world.folder)}.redo`, { force: true });
    unsynced += database.unsynced + redo.unsynced;
    lost += database.lost + redo.lost;
    lostRedo += redo.lost;
    return `${database.lost} of ${database.unsynced} writes to the database that were not synced, ${redo.lost} of ${redo.unsynced} to the redo log`;
  };
  /** The redo log is begun anew at each start, after what it had was done again: the power goes in between. */
  const interruptStart = async (loses: number): Promise<void> => {
    const interrupted = world.start({ env: power.env });
    let isOver = false;
    const over = (): void => void (isOver = true);
    interrupted.ready.then(over, over);
    while (!isOver && !power.isRedoUnsynced()) await delay(1);
    await interrupted.kill();
    if (power.isRedoUnsynced()) interruptedStarts += 1;
    strike(loses);
  };
  for (let round = 1; round <= options.rounds; round += 1) {
    load.resume();
    await delay(random.between(500, 2000));
    await service.kill();
    // A disk may lose everything that was not synced, or any part of it.
    const loses = round % 2 === 1 ? 1 : 0.5;
    const struck = strike(loses);
    if (round % 4 >= 2) await interruptStart(loses);
    service = world.start({ env: power.env });
    try {
      await service.ready;
    } catch (error) {
      // It does not start any more, with what it has left: the clients, too, have to end.
      nobody.resolve(createA2aClient(NOWHERE, ''));
      throw error;
    }
    await load.pause();
    await world.settle(30_000);
    const evidence = await world.check();
    world.say(`lost power ${round} times, ${struck}; ${summaryOf(evidence)}`);
  }
  const syncs = power.syncs();
  const count = (file: string): number => syncs.filter((sync) => sync.file === file).length;
  return {
    unsynced,
    lost,
    lostRedo,
    redoSyncs: count('redo'),
    interruptedStarts,
    checkpoints: count('db'),
    unsafeCheckpoints: count('wal-begun-before-db-was-synced'),
  };
};
