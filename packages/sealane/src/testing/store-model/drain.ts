import { isTerminal } from '#domain';

import { leaveRuns } from './model.ts';
import { join, observe, type World } from './model-world.ts';
import { claim, finishRun, reap, releaseRun } from './run-steps.ts';
import { pauseAgent, pauseLane } from './task-steps.ts';

/**
 * Whatever has happened, nothing is stuck: when all instances have gone, another takes over every run and ends it,
 * and every turn that waits comes up, lane by lane in order, until the lanes are empty.
 */
export const drain = async (world: World): Promise<void> => {
  const { model, corner, expect } = world;
  for (const instance of model.instances) {
    if (instance.lease !== 'held') continue;
    await corner.tasks.leave(instance.id);
    leaveRuns(model, instance);
  }
  for (const lane of model.lanes.keys()) {
    await pauseLane(world, { lane, isPaused: false });
    await pauseAgent(world, { lane, isPaused: false });
  }
  await join(world);
  // The only one that lives.
  const instance = 1;
  await reap(world, { instance });
  await endRuns(world);
  const afterMs = 3_600_000;
  while (model.lanes.some(({ line }) => line.length > 0)) {
    const claimed = await claim(world, { instance, free: [9, 9], ownerRunning: 0, afterMs });
    expect(claimed).not.toHaveLength(0);
    if (claimed.length === 0) break;
    await endRuns(world);
  }
  await observe(world, model.tasks);
};

const endRuns = async (world: World): Promise<void> => {
  for (const { turn, state } of world.model.tasks) {
    if (!turn?.run) continue;
    const isOpen = !isTerminal(state) && !turn.hasEnded;
    if (isOpen) await finishRun(world, turn.run, { state: 'canceled', isWhole: false, release: true });
    else await releaseRun(world, turn.run, null);
  }
};
