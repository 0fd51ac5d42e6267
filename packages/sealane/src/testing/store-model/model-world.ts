import { isDeepStrictEqual } from 'node:util';

import type { Refused, Result } from '#store';

import type { Corner } from '../store-contract/contract-corner.ts';
import { foldedUpTo, idsOf, kindsOf, seqsOf, snapshotOf } from '../store-contract/contract-events.ts';
import type { Expect } from '../test-runner.ts';
import {
  isCurrent,
  isWaiting,
  type Model,
  type ModelInstance,
  type ModelLane,
  type ModelRun,
  type ModelTask,
  positionOf,
  runIn,
} from './model.ts';

/** The store and its model, side by side. */
export interface World {
  readonly model: Model;
  readonly corner: Corner;
  readonly expect: Expect;
}

/** Four lanes of two owners and two agents: enough for every kind of neighbour. */
export const createWorld = async (corner: Corner, expect: Expect): Promise<World> => {
  const lane = (key: string, owner: string, agent: string): ModelLane => ({
    key: corner.name(key),
    owner: corner.name(owner),
    agent: corner.name(agent),
    line: [],
    isPaused: false,
  });
  const model: Model = {
    tasks: [],
    lanes: [lane('p', 'o1', 'a1'), lane('q', 'o1', 'a2'), lane('r', 'o2', 'a1'), lane('s', 'o2', 'a1')],
    instances: [],
    runs: [],
    followers: [],
    purse: 0,
    pausedAgents: new Set(),
  };
  const world = { model, corner, expect };
  await join(world);
  await join(world);
  return world;
};

export const join = async ({ model, corner }: World): Promise<ModelInstance> => {
  const instance: ModelInstance = { id: await corner.instance(), lease: 'held' };
  model.instances.push(instance);
  return instance;
};

/** A number that fast-check chose, as a member of a list that is not empty. */
export const pick = <T>(list: readonly T[], index: number): T => {
  const member = list[index % list.length];
  if (member === undefined) throw new Error('There is nothing to pick from.');
  return member;
};

/** Mostly an instance that lives; now and then one that does not, for it may not know. */
export const pickInstance = ({ model }: World, index: number): ModelInstance => {
  const alive = model.instances.filter(({ lease }) => lease === 'held');
  return pick(index % 4 === 0 || alive.length === 0 ? model.instances : alive, index);
};

/** Mostly a run that is held; now and then one that is over. */
export const pickRun = ({ model }: World, index: number): ModelRun => {
  const held = model.runs.filter(isCurrent);
  return pick(index % 3 === 0 || held.length === 0 ? model.runs : held, index);
};

export const outcomeOf = (result: Result<unknown>): Refused['why'] | 'ok' => (result.ok ? 'ok' : result.why);

/** Asks the runner only when there is something to tell: its matchers are slow, and this is asked a lot. */
const same = (expect: Expect, actual: unknown, expected: unknown): void => {
  if (!isDeepStrictEqual(actual, expected)) expect(actual).toEqual(expected);
};

const unique = <T>(list: readonly T[]): readonly T[] => [...new Set(list)];

/** Everything that can be seen of the store must be what the model says. */
export const observe = async (world: World, touched: readonly ModelTask[]): Promise<void> => {
  const owners = unique(world.model.lanes.map(({ owner }) => owner));
  const agents = unique(world.model.lanes.map(({ agent }) => agent));
  await Promise.all([
    ...owners.map((owner) => observeTasks(world, owner)),
    ...agents.map((agent) => observeLanes(world, agent)),
    ...touched.filter((task) => world.model.tasks.includes(task)).map((task) => observeLog(world, task)),
  ]);
};

/** States, numbers and places of an owner's tasks, and their order. */
const observeTasks = async ({ model, corner, expect }: World, owner: string): Promise<void> => {
  const page = await corner.list({}, { owner, tenant: corner.tenant });
  const expected = model.tasks
    .map((task, index) => ({ task, index }))
    .filter(({ task }) => task.lane.owner === owner)
    .toSorted((a, b) => b.task.statusAt - a.task.statusAt || b.index - a.index)
    .map(({ task }) => ({ id: task.id, state: task.state, seq: task.kinds.length, queuePosition: positionOf(task) }));
  const seen = page.tasks.map(({ id, state, seq, queuePosition }) => ({ id, state, seq, queuePosition }));
  same(expect, seen, expected);
  same(expect, page.total, expected.length);
};

/** What waits, what runs and what is paused. */
const observeLanes = async ({ model, corner, expect }: World, agent: string): Promise<void> => {
  const seen = await corner.storage.lanes.list({ agent, limit: 100 });
  const expected = model.lanes
    .filter((lane) => lane.agent === agent && (lane.line.length > 0 || lane.isPaused))
    .map((lane) => ({
      key: lane.key,
      owner: lane.owner,
      waiting: lane.line.filter(isWaiting).length,
      running: runIn(lane)?.task.id ?? null,
      paused: lane.isPaused,
    }));
  same(
    expect,
    seen.map(({ key, owner, waiting, running, paused }) => ({ key, owner, waiting, running, paused })),
    expected,
  );
};

/** The events of a task: their numbers, their kinds, and that they make up what is found. */
const observeLog = async ({ corner, expect }: World, task: ModelTask): Promise<void> => {
  const [found, log] = await Promise.all([corner.task(task.id), corner.log(task.id)]);
  same(expect, kindsOf(log), task.kinds);
  same(
    expect,
    seqsOf(log),
    task.kinds.map((_, index) => index + 1),
  );
  same(expect, snapshotOf(found), foldedUpTo(log, found.seq));
};

/** The other ways to look at the same things: pages, filters, interventions, another owner. */
export const look = async (
  world: World,
  args: { readonly task: number; readonly instance: number; readonly after: number; readonly limit: number },
): Promise<readonly ModelTask[]> => {
  const { model, corner, expect } = world;
  const task = pick(model.tasks, args.task);
  const scope = { owner: task.lane.owner, tenant: corner.tenant };
  const events = await corner.tasks.read(scope, task.id, args.after, args.limit);
  expect(kindsOf(events)).toEqual(task.kinds.slice(args.after, args.after + args.limit));
  expect(await corner.tasks.find({ ...scope, owner: corner.name('stranger') }, task.id)).toBe(undefined);

  const instance = pickInstance(world, args.instance);
  const held = model.tasks.filter(({ turn }) => turn?.run?.instance === instance);
  const told = held.filter(({ turn, isCancelAsked }) => turn?.hasEnded || isCancelAsked);
  expect([...(await corner.tasks.interventions(instance.id))].toSorted()).toEqual([...idsOf(told)].toSorted());

  const same = model.tasks.filter((one) => one.state === task.state && one.lane.owner === task.lane.owner);
  const query = { states: [task.state], order: 'inserted', limit: args.limit } as const;
  const page = await corner.list(query, scope);
  expect(idsOf(page.tasks)).toEqual(idsOf(same.slice(0, args.limit)));
  expect(page.total).toBe(same.length);
  expect(page.next === undefined).toBe(same.length <= args.limit);
  return [];
};
