import {
  canMove,
  type Event,
  type EventKind,
  fold,
  isTerminal,
  type NewEvent,
  type State,
  type TaskSnapshot,
} from '#domain';

import type { Instant, Scope, StoredTask } from '../task-store.ts';
import { eventsAfter, isoOf } from './event-log.ts';
import { TURN, TURNS_AHEAD } from './lanes.sql.ts';
import { first, type Steps } from './step.ts';
import {
  type HeadRow,
  SET_CONTENT,
  SET_HEAD_FOLDED,
  SET_SNAPSHOT,
  SET_STATE,
  SET_STATUS,
  SPLICE_SNAPSHOT,
  STATE_OF,
  TASK_BY_ID,
  TASK_BY_KEY,
  type TaskRow,
} from './tasks.sql.ts';

/** Whether a task of this state waits or runs, as the column `open` has it. */
export const openFlag = (state: string): number => (state === 'submitted' || state === 'working' ? 1 : 0);

export const inScope = (scope: Scope, row: TaskRow): boolean =>
  scope === 'all' ||
  (row.owner === scope.owner &&
    row.tenant === scope.tenant &&
    (scope.agent === undefined || row.agent === scope.agent));

/** The task of that id if the scope may see it: a foreign one is as absent as an unknown one. */
export function* visibleTask(scope: Scope, id: string): Steps<TaskRow | undefined> {
  const row = yield* first(TASK_BY_ID, id);
  return row && inScope(scope, row) ? row : undefined;
}

export const snapshotOf = (row: TaskRow): TaskSnapshot => ({
  state: row.status_state as State,
  statusAt: row.status_timestamp,
  artifacts: JSON.parse(row.artifacts),
  history: JSON.parse(row.history),
  metadata: JSON.parse(row.metadata),
  ...(row.status_message !== null && { statusMessage: JSON.parse(row.status_message) }),
});

/** A row with its content brought up to date by the events it has not folded yet. */
const withTail = (row: TaskRow, tail: readonly Event[]): TaskRow => {
  if (tail.length === 0) return row;
  const snapshot = fold(snapshotOf(row), tail);
  return {
    ...row,
    status_state: snapshot.state,
    status_message: snapshot.statusMessage ? JSON.stringify(snapshot.statusMessage) : null,
    status_timestamp: snapshot.statusAt,
    artifacts: JSON.stringify(snapshot.artifacts),
    history: JSON.stringify(snapshot.history),
    metadata: JSON.stringify(snapshot.metadata),
    folded: tail.at(-1)?.seq ?? row.folded,
  };
};

/** What the port promises of a row: the whole task as of event `seq`. */
export const storedTask = (row: TaskRow, queue?: { position: number; queuedAt: Instant }): StoredTask => ({
  id: row.id,
  contextId: row.context_id,
  owner: row.owner,
  tenant: row.tenant,
  agent: row.agent,
  dialect: row.dialect,
  lane: row.session,
  direct: row.direct === 1,
  state: row.status_state as State,
  statusMessage: row.status_message,
  statusAt: row.status_timestamp,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  artifacts: row.artifacts,
  history: row.history,
  metadata: row.metadata,
  seq: row.folded,
  ...(queue && { queuePosition: queue.position, queuedAt: queue.queuedAt }),
});

/** The task with everything that has happened to it, and its place in its lane while it waits. */
export function* loadTask(row: TaskRow): Steps<StoredTask> {
  // The end is the last event and is folded in with its turn.
  if (isTerminal(row.status_state as State)) return storedTask(row);
  const tail = yield* eventsAfter(row.k, row.folded);
  const whole = withTail(row, tail);
  if (whole.status_state !== 'submitted') return storedTask(whole);
  const turn = yield* first(TURN, row.k);
  if (!turn || turn.holder !== null) return storedTask(whole);
  const ahead = yield* first(TURNS_AHEAD, turn.lane, turn.lane, turn.place);
  return storedTask(whole, { position: ahead?.n ?? 0, queuedAt: turn.queued_at });
}

export function* reloadTask(task: number): Steps<StoredTask> {
  const row = yield* first(TASK_BY_KEY, task);
  if (!row) throw new Error(`Task ${task} disappeared inside its own step.`);
  return yield* loadTask(row);
}

/**
 * Writes the snapshot that includes `news`, the events just appended after `head.seq` was advanced. Reads the tail
 * only when there is one, so a turn that ended with its first append costs no extra read.
 */
export function* foldIn(task: number, head: HeadRow, news: readonly Event[], at: Instant): Steps<StoredTask> {
  const row = yield* first(TASK_BY_KEY, task);
  if (!row) throw new Error(`Task ${task} has a head and no row.`);
  checkMoves(row.status_state as State, news);
  const tail = row.folded + news.length === head.seq ? news : yield* eventsAfter(task, row.folded);
  const whole = { ...withTail(row, tail), updated_at: isoOf(at) };
  yield* first(
    SET_SNAPSHOT,
    whole.status_state,
    openFlag(whole.status_state),
    whole.status_message,
    whole.status_timestamp,
    whole.updated_at,
    whole.artifacts,
    whole.history,
    whole.metadata,
    whole.folded,
    task,
  );
  return storedTask(whole);
}

/** JSON text for the columns of a turn that needs no folding, or nothing when it does. */
const spliceOf = (
  events: readonly Event[],
): { readonly artifacts: string; readonly tail: string; readonly message: string | null } | undefined => {
  const last = events.at(-1)?.event;
  if (last?.kind !== 'turn-ended' || last.reason !== undefined || last.forced || last.metadata) return undefined;
  const artifacts: string[] = [];
  const ids = new Set<string>();
  for (const { event } of events.slice(0, -1)) {
    if (event.kind !== 'artifact-added' || event.append || ids.has(event.artifact.artifactId)) return undefined;
    ids.add(event.artifact.artifactId);
    artifacts.push(JSON.stringify(event.artifact));
  }
  const message = last.message ? JSON.stringify(last.message) : null;
  return { artifacts: `[${artifacts.join(',')}]`, tail: message === null ? ']' : `,${message}]`, message };
};

/** What `SPLICE_SNAPSHOT` makes of a task, for those who know what it was before. */
export const spliced = (task: StoredTask, news: readonly Event[]): StoredTask | undefined => {
  const splice = spliceOf(news);
  const end = news.at(-1);
  if (!splice || !end || end.event.kind === 'artifact-added') return undefined;
  return {
    ...task,
    state: end.event.state,
    statusMessage: splice.message,
    statusAt: end.at,
    updatedAt: end.at,
    artifacts: splice.artifacts,
    history: task.history.slice(0, -1) + splice.tail,
    seq: end.seq,
  };
};

/**
 * The snapshot after a turn's last events: spliced where that is enough, folded otherwise. A caller that knows the
 * task as it was can splice by itself and is answered nothing.
 */
export function* snapshotIn(
  task: number,
  head: HeadRow,
  news: readonly Event[],
  at: Instant,
  isKnown: boolean,
): Steps<StoredTask | undefined> {
  const splice = spliceOf(news);
  const end = news.at(-1);
  if (splice && end && end.event.kind !== 'artifact-added') {
    const { state } = end.event;
    const spliced = yield* first(
      SPLICE_SNAPSHOT,
      state,
      splice.message,
      end.at,
      end.at,
      splice.artifacts,
      splice.tail,
      head.seq,
      task,
      head.seq - news.length,
    );
    if (spliced) return isKnown ? undefined : yield* reloadTask(task);
  }
  return yield* foldIn(task, head, news, at);
}

/** Nothing sets a state but a move of the table; a step that tries is wrong, and writes nothing. */
const checkMoves = (from: State, events: readonly Event[]): void => {
  let state = from;
  for (const { event } of events) {
    if (event.kind === 'artifact-added' || event.kind === 'task-put') continue;
    if (!canMove(state, event.state))
      throw new Error(`A task cannot go from ${state} to ${event.state} (${event.kind}).`);
    state = event.state;
  }
};

/** The events that say, or end, what the status says; a cancel's intent or a lost run leaves it standing. */
const SPEAKS: ReadonlySet<EventKind> = new Set([
  'task-admitted',
  'message-received',
  'run-started',
  'status-reported',
  'turn-ended',
]);

/** Only the status columns: what a list sorts and filters by must be true at every moment, the content need not be. */
export function* setStatus(task: number, news: readonly Event[]): Steps<void> {
  const last = news.findLast(({ event }) => event.kind !== 'artifact-added');
  if (!last || last.event.kind === 'artifact-added') return;
  checkMoves(((yield* first(STATE_OF, task))?.status_state ?? 'submitted') as State, news);
  const spoken = news.findLast(({ event }) => SPEAKS.has(event.kind));
  if (!spoken) {
    yield* first(SET_STATE, last.event.state, openFlag(last.event.state), last.at, last.at, task);
    return;
  }
  const { event } = spoken;
  const message = event.kind === 'status-reported' || event.kind === 'turn-ended' ? event.message : undefined;
  yield* first(
    SET_STATUS,
    last.event.state,
    openFlag(last.event.state),
    message ? JSON.stringify(message) : null,
    last.at,
    last.at,
    task,
  );
}

/** Below this many bytes a tail is cheaper to fold at each read than to fold once and store. */
const CHECKPOINT_BYTES = 256 * 1024;

/** Folds a tail that has outgrown what is folded already: the work is proportional to what was appended since. */
export function* checkpoint(task: number, head: HeadRow): Steps<void> {
  if (head.tail < CHECKPOINT_BYTES || head.tail < head.content) return;
  const row = yield* first(TASK_BY_KEY, task);
  if (!row) return;
  const whole = withTail(row, yield* eventsAfter(task, row.folded));
  yield* first(SET_CONTENT, whole.artifacts, whole.history, whole.metadata, whole.folded, task);
  yield* first(SET_HEAD_FOLDED, sizeOf(whole), task);
}

export const sizeOf = (row: Pick<TaskRow, 'artifacts' | 'history' | 'metadata'>): number =>
  row.artifacts.length + row.history.length + row.metadata.length;

export const endsTask = (events: readonly NewEvent[]): boolean =>
  events.some((event) => event.kind !== 'artifact-added' && isTerminal(event.state));
