import type { State } from '#domain';

import { timedOut } from '../store-contract/contract-events.ts';
import type { ModelTask } from './model.ts';
import { force as decideForce, leaveRuns, remove as decideRemove, requestCancel as decideCancel } from './model.ts';
import { join, outcomeOf, pick, pickInstance, type World } from './model-world.ts';

interface OfTask {
  readonly task: number;
  readonly isForeign: boolean;
}

const scopeOf = ({ corner }: World, task: ModelTask, isForeign: boolean) => ({
  owner: isForeign ? corner.name('stranger') : task.lane.owner,
  tenant: corner.tenant,
});

export const requestCancel = async (world: World, args: OfTask): Promise<readonly ModelTask[]> => {
  const { model, corner, expect } = world;
  const task = pick(model.tasks, args.task);
  const at = corner.later();
  const expected = args.isForeign ? 'absent' : decideCancel(task, at);
  const result = await corner.tasks.requestCancel(scopeOf(world, task, args.isForeign), task.id, 'somebody', at);
  expect(result.ok ? result.value.outcome : result.why).toBe(expected);
  if (result.ok && result.value.outcome === 'ended') {
    expect(result.value.task).toMatchObject({ state: task.state, seq: task.kinds.length });
  }
  return [task];
};

export const force = async (
  { model, corner, expect }: World,
  args: { readonly task: number; readonly from: readonly State[] },
): Promise<readonly ModelTask[]> => {
  const task = pick(model.tasks, args.task);
  const at = corner.later();
  const expected = decideForce(task, args.from, at);
  expect(outcomeOf(await corner.tasks.force(task.id, args.from, timedOut, at))).toBe(expected);
  return [task];
};

export const remove = async (world: World, args: OfTask): Promise<readonly ModelTask[]> => {
  const { model, corner, expect } = world;
  const task = pick(model.tasks, args.task);
  const at = corner.later();
  const expected = args.isForeign ? 'absent' : decideRemove(model, task, at);
  expect(outcomeOf(await corner.tasks.remove(scopeOf(world, task, args.isForeign), task.id, at))).toBe(expected);
  const isThere = (await corner.tasks.find('all', task.id)) !== undefined;
  expect(isThere).toBe(model.tasks.includes(task));
  return [task];
};

export const pauseLane = async (
  { model, corner, expect }: World,
  args: { readonly lane: number; readonly isPaused: boolean },
): Promise<readonly ModelTask[]> => {
  const lane = pick(model.lanes, args.lane);
  const isThere = lane.line.length > 0 || lane.isPaused;
  expect(await corner.storage.lanes.pause(lane.key, args.isPaused, 'operator', corner.later())).toBe(isThere);
  if (isThere) lane.isPaused = args.isPaused;
  return [];
};

export const pauseAgent = async (
  { model, corner, expect }: World,
  args: { readonly lane: number; readonly isPaused: boolean },
): Promise<readonly ModelTask[]> => {
  const { agent } = pick(model.lanes, args.lane);
  await corner.storage.lanes.pauseAgent(agent, args.isPaused, 'operator', corner.later());
  if (args.isPaused) model.pausedAgents.add(agent);
  else model.pausedAgents.delete(agent);
  expect((await corner.storage.lanes.pausedAgents()).includes(agent)).toBe(args.isPaused);
  return [];
};

/** One more instance takes out a lease. */
export const enter = async (world: World): Promise<readonly ModelTask[]> => {
  await join(world);
  return [];
};

type LeaseStep = (world: World, args: { readonly instance: number }) => Promise<readonly ModelTask[]>;

/** The lease runs out, without a word to anybody. */
export const expire: LeaseStep = async (world, args) => {
  const instance = pickInstance(world, args.instance);
  await world.corner.expire(instance.id);
  instance.lease = 'expired';
  return [];
};

export const leave: LeaseStep = async (world, args) => {
  const instance = pickInstance(world, args.instance);
  await world.corner.tasks.leave(instance.id);
  leaveRuns(world.model, instance);
  return [];
};

export const renew: LeaseStep = async (world, args) => {
  const { corner, expect } = world;
  const instance = pickInstance(world, args.instance);
  const expected = instance.lease === 'held' ? 'ok' : 'lost';
  expect(outcomeOf(await corner.tasks.renew(instance.id, 3_600_000))).toBe(expected);
  return [];
};
