import { canMove, isInterrupted, isTerminal, runIdOf, type State } from '#domain';
import type { Refusal, RunToken } from '#store';

/**
 * What the store promises, written in the most obvious way: arrays, loops and no thought of speed, of atomicity or of
 * what could go wrong. Each function is the step of the same name; it changes the model and answers what the store
 * must answer.
 */
export interface Model {
  readonly tasks: ModelTask[];
  readonly lanes: readonly ModelLane[];
  readonly instances: ModelInstance[];
  /** Every run that anybody was ever given, the latest last. */
  readonly runs: ModelRun[];
  readonly pausedAgents: Set<string>;
  /** Followers of every event, in the order in which their tasks came. A removed task keeps its own. */
  readonly followers: ModelFollower[];
  /** What conditions can take from. */
  purse: number;
}

export interface ModelFollower {
  readonly task: ModelTask;
  /** The number of the last event that it has handled. */
  handled: number;
}

export interface ModelTask {
  readonly id: string;
  readonly lane: ModelLane;
  readonly idempotency: { readonly key: string; readonly bodyHash: string } | undefined;
  state: State;
  /** The kinds of its events; there are as many as the task's number says. */
  readonly kinds: string[];
  readonly messageIds: string[];
  statusAt: number;
  isCancelAsked: boolean;
  turns: number;
  turn: ModelTurn | undefined;
}

/** A turn that waits or is held. */
export interface ModelTurn {
  readonly number: number;
  attempt: number;
  drains: number;
  retryAt: number;
  run: ModelRun | undefined;
  ref: number | undefined;
  hasEnded: boolean;
}

export interface ModelRun {
  readonly task: ModelTask;
  readonly instance: ModelInstance;
  readonly token: RunToken;
  readonly name: string;
  /** Its instance left while it held the run. */
  isLeft: boolean;
}

export interface ModelLane {
  readonly key: string;
  readonly owner: string;
  readonly agent: string;
  /** Those with a turn here, in the order in which they came. */
  readonly line: ModelTask[];
  isPaused: boolean;
}

export interface ModelInstance {
  readonly id: string;
  lease: 'held' | 'expired' | 'left';
}

export type Expected = Refusal | 'condition' | 'ok';

export const isWaiting = (task: ModelTask): boolean => task.turn !== undefined && task.turn.run === undefined;
export const runIn = (lane: ModelLane): ModelRun | undefined => lane.line.find((task) => task.turn?.run)?.turn?.run;
export const isCurrent = (run: ModelRun): boolean => run.task.turn?.run === run;
export const waitingOf = (model: Model, owner: string): number =>
  model.tasks.filter((task) => task.lane.owner === owner && isWaiting(task)).length;
export const runningOf = (model: Model, owner: string): number =>
  model.tasks.filter((task) => task.lane.owner === owner && task.turn?.run).length;

/** How many are ahead of a waiting task in its lane; only a submitted task tells. */
export const positionOf = (task: ModelTask): number | undefined =>
  isWaiting(task) && task.state === 'submitted' ? task.lane.line.indexOf(task) : undefined;

/** One more event, and what it does to the status. Chunks give no state. */
export const happen = (task: ModelTask, kind: string, at: number, state?: State): void => {
  task.kinds.push(kind);
  if (state === undefined) return;
  task.state = state;
  task.statusAt = at;
};

export const leaveLane = (task: ModelTask): void => {
  const { line } = task.lane;
  line.splice(line.indexOf(task), 1);
  task.turn = undefined;
};

export interface Limits {
  readonly laneWaiting: number;
  readonly ownerWaiting: number;
}

/** Why a turn may not wait in this lane. */
export const refusedEntry = (model: Model, lane: ModelLane, limits: Limits, caller?: string): Expected => {
  if (caller !== undefined && runIn(lane)?.name === caller) return 'loop';
  if (limits.ownerWaiting > 0 && waitingOf(model, lane.owner) >= limits.ownerWaiting) return 'owner-full';
  if (lane.line.filter(isWaiting).length >= limits.laneWaiting) return 'full';
  return 'ok';
};

/** A turn with a slot starts at once when nobody is before it and nothing is paused. */
export const startsAtOnce = (model: Model, lane: ModelLane, hasSlot: boolean): boolean =>
  hasSlot && lane.line.length === 0 && !lane.isPaused && !model.pausedAgents.has(lane.agent);

export const enterLane = (task: ModelTask): void => {
  task.turns += 1;
  task.turn = {
    number: task.turns,
    attempt: 0,
    drains: 0,
    retryAt: 0,
    run: undefined,
    ref: undefined,
    hasEnded: false,
  };
  task.lane.line.push(task);
};

/** The turn is held from now on; whoever held it before holds nothing. */
export const hold = (model: Model, task: ModelTask, instance: ModelInstance, token: RunToken): void => {
  if (!task.turn) throw new Error(`The model knows no turn of ${task.id}.`);
  const name = runIdOf(task.id, task.turn.number, task.turn.attempt);
  task.turn.run = { task, instance, token, name, isLeft: false };
  model.runs.push(task.turn.run);
};

export const startRun = (model: Model, task: ModelTask, instance: ModelInstance, token: RunToken, at: number): void => {
  if (task.turn) task.turn.attempt += 1;
  hold(model, task, instance, token);
  happen(task, 'run-started', at, 'working');
};

/** An instance gives up its lease, and with it the runs that it holds. */
export const leaveRuns = (model: Model, instance: ModelInstance): void => {
  instance.lease = 'left';
  for (const run of model.runs) if (isCurrent(run) && run.instance === instance) run.isLeft = true;
};

/** What a message to a task that exists becomes. */
export const follow = (
  task: ModelTask,
  messageId: string,
  isSteerable: boolean,
): 'again' | 'tell' | 'enter' | Refusal => {
  if (task.messageIds.includes(messageId)) return 'again';
  if (isTerminal(task.state)) return 'terminal';
  if (!task.turn) return 'enter';
  const isLive = task.turn.run !== undefined && !task.turn.hasEnded;
  return isLive && (isInterrupted(task.state) || isSteerable) ? 'tell' : 'busy';
};

/** What an earlier holder of a run is told. `terminal` is as good an answer when the task has ended as well. */
export const refusedHolder = (run: ModelRun): readonly (Expected | 'rejected')[] | undefined => {
  if (isCurrent(run)) return undefined;
  return isTerminal(run.task.state) ? ['lost', 'terminal'] : ['lost'];
};

/** `rejected`: the table of states knows no such move, so that the step is an error and no outcome. */
export const finish = (
  run: ModelRun,
  state: State,
  isWhole: boolean,
  release: boolean,
  at: number,
): Expected | 'rejected' => {
  const { task } = run;
  if (isTerminal(task.state)) return 'terminal';
  if (task.isCancelAsked && state !== 'canceled') return 'canceled';
  if (!canMove(task.state, state)) return 'rejected';
  if (isWhole) happen(task, 'artifact-added', at);
  happen(task, 'turn-ended', at, state);
  if (release) leaveLane(task);
  else if (task.turn) task.turn.hasEnded = true;
  return 'ok';
};

export const release = (run: ModelRun, retryAt: number | undefined, isDrain: boolean): Expected => {
  const { task } = run;
  if (retryAt === undefined) {
    leaveLane(task);
    return 'ok';
  }
  if (isTerminal(task.state)) return 'terminal';
  if (task.isCancelAsked) return 'canceled';
  if (!task.turn) return 'ok';
  task.turn.drains += isDrain ? 1 : 0;
  Object.assign(task.turn, { run: undefined, ref: undefined, retryAt });
  return 'ok';
};

export const requestCancel = (task: ModelTask, at: number): Expected | 'asked' | 'ended' => {
  if (isTerminal(task.state)) return 'terminal';
  if (task.turn?.run && !task.turn.hasEnded) {
    if (!task.isCancelAsked) happen(task, 'cancel-requested', at, task.state);
    task.isCancelAsked = true;
    return 'asked';
  }
  endNow(task, 'canceled', at);
  return 'ended';
};

export const force = (task: ModelTask, from: readonly State[], at: number): Expected => {
  if (isTerminal(task.state)) return 'terminal';
  if (!from.includes(task.state)) return 'conflict';
  endNow(task, 'failed', at);
  return 'ok';
};

/** The task ends from outside: a waiting turn is gone, a held one stays held. */
const endNow = (task: ModelTask, state: State, at: number): void => {
  happen(task, 'turn-ended', at, state);
  if (isWaiting(task)) leaveLane(task);
  else if (task.turn) task.turn.hasEnded = true;
};

/** What followers are owed, as `first-last`. */
export const owed = (model: Model): readonly string[] =>
  model.followers
    .filter(({ task, handled }) => handled < task.kinds.length)
    .map(({ task, handled }) => `${handled + 1}-${task.kinds.length}`);

/** An open task is canceled first. */
export const remove = (model: Model, task: ModelTask, at: number): Expected => {
  if (task.turn?.run) return 'busy';
  if (!isTerminal(task.state)) happen(task, 'turn-ended', at, 'canceled');
  if (task.turn) leaveLane(task);
  model.tasks.splice(model.tasks.indexOf(task), 1);
  return 'ok';
};

/** The lanes whose first turn could start now. */
export const readyLanes = (model: Model, agent: string, at: number): readonly ModelLane[] =>
  model.lanes.filter((lane) => {
    const [head] = lane.line;
    return (
      lane.agent === agent &&
      !lane.isPaused &&
      !model.pausedAgents.has(agent) &&
      head !== undefined &&
      runIn(lane) === undefined &&
      (head.turn?.retryAt ?? 0) <= at
    );
  });
