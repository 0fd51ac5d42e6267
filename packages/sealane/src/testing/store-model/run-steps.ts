import { isTerminal, type NewEvent, type State } from '#domain';

import { chunk, isRejected, progress, question, turnEnded } from '../store-contract/contract-events.ts';
import type { ModelRun, ModelTask } from './model.ts';
import {
  finish as decideFinish,
  happen,
  hold,
  isCurrent,
  readyLanes,
  refusedHolder,
  release as decideRelease,
  runningOf,
  startRun,
} from './model.ts';
import { outcomeOf, pickInstance, pickRun, type World } from './model-world.ts';

export interface ClaimArgs {
  readonly instance: number;
  readonly free: readonly [number, number];
  readonly ownerRunning: number;
  /** How long the clock stood still before: retries come due. */
  readonly afterMs: number;
}

/**
 * The store chooses which of the ready lanes it takes, so the model follows its choice: each must be one that could be
 * taken, and none that could be taken may be left while there is a slot for it.
 */
export const claim = async (world: World, args: ClaimArgs): Promise<readonly ModelTask[]> => {
  const { model, corner, expect } = world;
  const instance = pickInstance(world, args.instance);
  const agents = [...new Set(model.lanes.map((lane) => lane.agent))];
  const free = new Map(agents.map((agent, index) => [agent, args.free[index] ?? 0]));
  const at = corner.later(args.afterMs);
  const { ownerRunning } = args;
  const claimed = await corner.tasks.claim({ instance: instance.id, free: Object.fromEntries(free), at, ownerRunning });
  if (instance.lease !== 'held') {
    expect(claimed).toEqual([]);
    return [];
  }
  const isTakeable = (agent: string) =>
    readyLanes(model, agent, at).filter(({ owner }) => ownerRunning === 0 || runningOf(model, owner) < ownerRunning);
  const touched: ModelTask[] = [];
  for (const { run, events } of claimed) {
    const lane = isTakeable(run.agent).find(({ key }) => key === run.session);
    const [head] = lane?.line ?? [];
    expect(head?.id).toBe(run.token.taskId);
    if (!head?.turn) break;
    const left = free.get(run.agent) ?? 0;
    expect(left > 0).toBe(true);
    free.set(run.agent, left - 1);
    startRun(model, head, instance, run.token, at);
    expect(events.map(({ seq, event }) => ({ seq, kind: event.kind }))).toEqual([
      { seq: head.kinds.length, kind: 'run-started' },
    ]);
    expectRun(world, head, run);
    touched.push(head);
  }
  for (const [agent, left] of free) if (left > 0) expect(isTakeable(agent).map(({ key }) => key)).toEqual([]);
  return touched;
};

const expectRun = ({ expect }: World, task: ModelTask, run: object): void => {
  const { turn, isCancelAsked } = task;
  expect(run).toMatchObject({
    token: { taskId: task.id },
    turn: turn?.number,
    attempt: turn?.attempt,
    drains: turn?.drains,
    cancelRequested: isCancelAsked,
    ended: turn?.hasEnded,
    seq: task.kinds.length,
  });
};

/** Takes over what nobody holds any more. */
export const reap = async (world: World, args: { readonly instance: number }): Promise<readonly ModelTask[]> => {
  const { model, corner, expect } = world;
  const instance = pickInstance(world, args.instance);
  const isOrphan = ({ turn }: ModelTask): boolean => turn?.run !== undefined && turn.run.instance.lease !== 'held';
  const orphans = instance.lease === 'held' ? model.tasks.filter(isOrphan) : [];
  const own = new Set(model.lanes.map(({ key }) => key));
  const reaped = (await corner.tasks.reap(instance.id, corner.later())).filter(({ run }) => own.has(run.session));
  expect(reaped.map(({ run }) => run.token.taskId).toSorted()).toEqual(orphans.map(({ id }) => id).toSorted());
  for (const { run, events } of reaped) {
    const task = orphans.find(({ id }) => id === run.token.taskId);
    if (!task) continue;
    const epochs = model.runs.filter((known) => known.task === task).map(({ token }) => token.epoch);
    expect(epochs).not.toContain(run.token.epoch);
    expect(events).toEqual([]);
    expect(run.ref).toEqual(task.turn?.ref === undefined ? undefined : { ref: task.turn.ref });
    expect(run.holderLeft).toBe(task.turn?.run?.isLeft ? true : undefined);
    hold(model, task, instance, run.token);
    expectRun(world, task, run);
  }
  return orphans;
};

/** A run may report while its turn has not ended; whoever is not its holder any more may try anything. */
export const mayReport = (run: ModelRun): boolean =>
  !isCurrent(run) || !run.task.turn?.hasEnded || isTerminal(run.task.state);

/** A run is released when its turn has ended. */
export const mayRelease = (run: ModelRun): boolean => !isCurrent(run) || run.task.turn?.hasEnded === true;

const REPORTS = { chunk, progress, question } as const;
const STATE_OF = { chunk: undefined, progress: 'working', question: 'input-required' } as const;
export type Report = keyof typeof REPORTS;

export const append = async (
  world: World,
  args: { readonly run: number; readonly reports: readonly Report[] },
): Promise<readonly ModelTask[]> => {
  const { corner, expect } = world;
  const run = pickRun(world, args.run);
  const { task, token } = run;
  const at = corner.later();
  const events = args.reports.map((report): NewEvent => REPORTS[report](`${report} ${at}`));
  const refused = refusedHolder(run) ?? (isTerminal(task.state) ? ['terminal'] : ['ok']);
  const result = await corner.tasks.append(token, events, at);
  expect(refused).toContain(outcomeOf(result));
  if (!result.ok) return [task];
  for (const report of args.reports) happen(task, kindOf(report), at, STATE_OF[report]);
  expect(result.value.events.map(({ seq }) => seq)).toEqual(
    args.reports.map((_, index) => task.kinds.length - args.reports.length + index + 1),
  );
  return [task];
};

const kindOf = (report: Report): string => (report === 'chunk' ? 'artifact-added' : 'status-reported');

export const remember = async (
  world: World,
  args: { readonly run: number; readonly ref: number },
): Promise<readonly ModelTask[]> => {
  const { corner, expect } = world;
  const run = pickRun(world, args.run);
  const result = await corner.tasks.remember(run.token, { ref: args.ref });
  expect(refusedHolder(run) ?? ['ok']).toContain(outcomeOf(result));
  if (result.ok && run.task.turn) run.task.turn.ref = args.ref;
  return [run.task];
};

export interface FinishArgs {
  readonly run: number;
  readonly state: State;
  /** The answer comes with the end, in one piece. */
  readonly isWhole: boolean;
  readonly release: boolean;
}

export const finish = (world: World, args: FinishArgs): Promise<readonly ModelTask[]> =>
  finishRun(world, pickRun(world, args.run), args);

export const finishRun = async (
  { corner, expect }: World,
  run: ModelRun,
  { state, isWhole, release: isReleased }: Omit<FinishArgs, 'run'>,
): Promise<readonly ModelTask[]> => {
  const { task, token } = run;
  const at = corner.later();
  // Some answers are longer than what a store might keep as it came in.
  const text = at % 3000 === 0 ? `${at} `.repeat(1000) : `${at}`;
  const answer: NewEvent = { kind: 'artifact-added', artifact: { artifactId: 'answer', parts: [{ text }] } };
  const events = [...(isWhole ? [answer] : []), turnEnded(state, `the end ${at}`)];
  const expected = refusedHolder(run) ?? [decideFinish(run, state, isWhole, isReleased, at)];
  const finishing = corner.tasks.finish(token, events, at, isReleased);
  if (expected.includes('rejected')) {
    expect(await isRejected(finishing)).toBe(true);
    return [task];
  }
  const result = await finishing;
  expect(expected).toContain(outcomeOf(result));
  if (result.ok) expect(result.value.task).toEqual(await corner.task(task.id));
  return [task];
};

export const release = (
  world: World,
  args: { readonly run: number; readonly retryInMs: number | null; readonly isDrain: boolean },
): Promise<readonly ModelTask[]> => releaseRun(world, pickRun(world, args.run), args.retryInMs, args.isDrain);

export const releaseRun = async (
  { corner, expect }: World,
  run: ModelRun,
  retryInMs: number | null,
  isDrain = false,
): Promise<readonly ModelTask[]> => {
  const { task, token } = run;
  const at = corner.later();
  const retryAt = retryInMs === null ? undefined : at + retryInMs;
  const refused = refusedHolder(run) ?? [decideRelease(run, retryAt, isDrain)];
  expect(refused).toContain(outcomeOf(await corner.tasks.release(token, at, retryAt, isDrain)));
  return [task];
};
