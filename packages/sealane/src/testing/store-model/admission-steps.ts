import type { Limits, ModelTask } from './model.ts';
import {
  enterLane,
  follow as decideFollow,
  happen,
  owed,
  positionOf,
  refusedEntry,
  startRun,
  startsAtOnce,
} from './model.ts';
import { outcomeOf, pick, pickInstance, pickRun, type World } from './model-world.ts';
import { kindsOf } from '../store-contract/contract-events.ts';

export interface AdmitArgs {
  readonly lane: number;
  /** Which instance has a slot for it. */
  readonly slot: number | null;
  readonly key: number | null;
  readonly body: number;
  /** Which run makes the call. */
  readonly caller: number | null;
  readonly limits: Limits;
  /** A probe follows the task. */
  readonly isFollowed: boolean;
  /** It may be taken in only with so much from the purse; 0 is no condition. */
  readonly take: number;
}

const callerOf = (world: World, index: number | null): string | undefined =>
  index === null || world.model.runs.length === 0 ? undefined : pickRun(world, index).name;

const callOf = (caller: string | undefined) => (caller === undefined ? {} : { ancestors: ['somebody.1', caller] });

/** The target of all followers, and what conditions take from. */
export const PURSE = 'purse';

/** A new task, on both sides. */
export const admit = async (world: World, args: AdmitArgs): Promise<readonly ModelTask[]> => {
  const { model, corner, expect } = world;
  const lane = pick(model.lanes, args.lane);
  const instance = args.slot === null ? undefined : pickInstance(world, args.slot);
  const caller = callerOf(world, args.caller);
  const idempotency =
    args.key === null ? undefined : { key: corner.name(`key-${args.key}`), bodyHash: `body ${args.body}` };
  const { owner, agent, key: session } = lane;
  const admission = corner.admission({
    owner,
    agent,
    session,
    limits: args.limits,
    call: callOf(caller),
    ...(instance && { slot: { instance: instance.id } }),
    ...(idempotency && { idempotency }),
    ...(args.isFollowed && { followers: [{ kind: 'probe', target: corner.name(PURSE), events: 'every' }] }),
    ...(args.take > 0 && { conditions: [{ name: 'probe', key: corner.name(PURSE), take: args.take }] }),
  });

  const known = model.tasks.find(
    (task) => task.lane.owner === owner && idempotency && task.idempotency?.key === idempotency.key,
  );
  const isAgain = known !== undefined && known.idempotency?.bodyHash === idempotency?.bodyHash;
  let expected = args.take > model.purse ? 'condition' : refusedEntry(model, lane, args.limits, caller);
  if (known) expected = isAgain ? 'ok' : 'conflict';
  const result = await corner.tasks.admit(admission);
  expect(outcomeOf(result)).toBe(expected);
  if (!result.ok) return known ? [known] : [];
  const { value } = result;
  expect(value.again).toBe(isAgain);
  if (known) {
    expect({ id: value.task.id, events: value.events, run: value.run }).toEqual({ id: known.id, events: [] });
    return [known];
  }

  const isStarted = startsAtOnce(model, lane, instance !== undefined);
  const task: ModelTask = {
    id: admission.id,
    lane,
    idempotency,
    state: 'submitted',
    kinds: [],
    messageIds: [admission.message.messageId],
    statusAt: admission.at,
    isCancelAsked: false,
    turns: 0,
    turn: undefined,
  };
  model.tasks.push(task);
  model.purse -= args.take;
  if (args.isFollowed) model.followers.push({ task, handled: 0 });
  happen(task, 'task-admitted', admission.at, 'submitted');
  enterLane(task);
  expect(value.run !== undefined).toBe(isStarted);
  if (value.run && instance) startRun(model, task, instance, value.run.token, admission.at);
  expect(kindsOf(value.events)).toEqual(task.kinds);
  expect(value.task).toMatchObject({ state: task.state, seq: task.kinds.length });
  expect(value.task.queuePosition).toBe(positionOf(task));
  return [task];
};

export interface FollowArgs {
  readonly task: number;
  readonly slot: number | null;
  readonly isSteerable: boolean;
  /** A message that the task knows already. */
  readonly isKnown: boolean;
  readonly isForeign: boolean;
  readonly caller: number | null;
  readonly limits: Limits;
}

/** A message to a task that exists, on both sides. */
export const follow = async (world: World, args: FollowArgs): Promise<readonly ModelTask[]> => {
  const { model, corner, expect } = world;
  const task = pick(model.tasks, args.task);
  const { lane } = task;
  const instance = args.slot === null ? undefined : pickInstance(world, args.slot);
  const caller = callerOf(world, args.caller);
  const fresh = corner.message();
  const message = args.isKnown ? { ...fresh, messageId: pick(task.messageIds, args.task) } : fresh;
  const at = corner.later();

  const becomes = args.isForeign ? 'absent' : decideFollow(task, message.messageId, args.isSteerable);
  const isEntry = becomes === 'enter';
  const refused = isEntry ? refusedEntry(model, lane, args.limits, caller) : becomes;
  const isAccepted = ['ok', 'again', 'tell'].includes(refused);
  const result = await corner.follow(task.id, {
    scope: { owner: args.isForeign ? corner.name('stranger') : lane.owner, tenant: corner.tenant },
    message,
    at,
    call: callOf(caller),
    steerable: args.isSteerable,
    limits: args.limits,
    ...(instance && { slot: { instance: instance.id } }),
  });
  expect(outcomeOf(result)).toBe(isAccepted ? 'ok' : refused);
  if (!result.ok) return [task];
  const { value } = result;
  expect(value.again).toBe(becomes === 'again');
  const before = task.kinds.length;
  const isStarted = isEntry && startsAtOnce(model, lane, instance !== undefined);
  if (becomes !== 'again') {
    task.messageIds.push(message.messageId);
    happen(task, 'message-received', at, isEntry ? 'submitted' : 'working');
  }
  if (isEntry) enterLane(task);
  expect(value.run !== undefined).toBe(isStarted);
  if (value.run && instance) startRun(model, task, instance, value.run.token, at);
  if (value.run) expect(value.run).toMatchObject({ turn: task.turns, attempt: 1, seq: task.kinds.length });
  expect(kindsOf(value.events)).toEqual(task.kinds.slice(before));
  return [task];
};

/** Everything that followers are owed is claimed and handled, and the purse gets what the effect adds. */
export const handleOwed = async (
  world: World,
  args: { readonly instance: number; readonly add: number },
): Promise<readonly ModelTask[]> => {
  const { model, corner, expect } = world;
  const instance = pickInstance(world, args.instance);
  const { outbox } = corner.storage;
  const claimed = await outbox.claim({ kind: 'probe', instance: instance.id, limit: 1000, leaseMs: 3_600_000 });
  const [own, ...others] = claimed.filter(({ claim }) => claim.target === corner.name(PURSE));
  expect(others).toEqual([]);
  const ranges = own?.ranges ?? [];
  const expected = instance.lease === 'held' ? owed(model) : [];
  expect(ranges.map(({ firstSeq, lastSeq }) => `${firstSeq}-${lastSeq}`)).toEqual(expected);
  if (!own) return [];
  const handled = ranges.map(({ follower, lastSeq }) => ({ follower, upTo: lastSeq }));
  const result = await outbox.advance(own.claim, handled, 3_600_000, { add: args.add });
  model.purse += args.add;
  expect(result.ok && result.value.answer).toEqual({ amount: model.purse });
  expect(result.ok && result.value.owed).toBe(undefined);
  for (const follower of model.followers) follower.handled = follower.task.kinds.length;
  return [];
};
