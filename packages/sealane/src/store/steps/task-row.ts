import { canMove, type Event, isTerminal, type NewEvent, type State } from '#domain';

import type { Instant, Scope, StoredTask } from '../task-store.ts';
import { type Content, contentOf } from './content.ts';
import { insertEvents, inWords, numbered, rowsAfter } from './event-log.ts';
import { TURN, TURNS_AHEAD } from './lanes.sql.ts';
import { all, first, type Steps } from './step.ts';
import {
  ADVANCE_TASK,
  type HeadRow,
  inGroup,
  SET_CONTENT,
  SET_HEAD_FOLDED,
  SET_STATUS,
  STATE_OF,
  TAILS,
  TASK_BY_ID,
  TASK_BY_KEY,
  type TaskRow,
  TASKS_BY_KEY,
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

/** What the port promises of a row: the whole task as of event `seq`. */
export const storedTask = (
  row: Omit<TaskRow, 'k' | keyof Content>,
  content: Content,
  queue?: { position: number; queuedAt: Instant },
): StoredTask => ({
  id: row.id,
  contextId: row.context_id,
  owner: row.owner,
  tenant: row.tenant,
  agent: row.agent,
  dialect: row.dialect,
  lane: row.session,
  direct: row.direct === 1,
  state: content.status_state as State,
  statusMessage: content.status_message,
  statusAt: content.status_timestamp,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  artifacts: content.artifacts,
  history: content.history,
  metadata: content.metadata,
  seq: content.folded,
  ...(queue && { queuePosition: queue.position, queuedAt: queue.queuedAt }),
});

/** The task with everything that has happened to it, and its place in its lane while it waits. */
export function* loadTask(row: TaskRow): Steps<StoredTask> {
  return yield* inLane(row, contentOf(row, yield* rowsAfter(row.k, row.folded)));
}

export function* reloadTask(task: number): Steps<StoredTask> {
  const row = yield* first(TASK_BY_KEY, task);
  if (!row) throw new Error(`Task ${task} disappeared inside its own step.`);
  return yield* loadTask(row);
}

/** At most `GROUP` tasks, in the order of their keys; one that is gone is left out. */
export function* loadGroup(keys: readonly number[], withArtifacts: boolean): Steps<readonly StoredTask[]> {
  const params = inGroup(keys);
  const rows = new Map((yield* all(TASKS_BY_KEY, ...params)).map((row) => [row.k, row]));
  const tails = Map.groupBy(yield* all(TAILS, ...params), ({ task }) => task);
  const tasks: StoredTask[] = [];
  for (const key of keys) {
    const row = rows.get(key);
    if (!row) continue;
    const task = yield* inLane(row, contentOf(row, tails.get(key) ?? [], withArtifacts));
    tasks.push(withArtifacts ? task : { ...task, artifacts: '[]' });
  }
  return tasks;
}

function* inLane(row: TaskRow, content: Content): Steps<StoredTask> {
  if (content.status_state !== 'submitted') return storedTask(row, content);
  const turn = yield* first(TURN, row.k);
  if (!turn || turn.holder !== null) return storedTask(row, content);
  const ahead = yield* first(TURNS_AHEAD, turn.lane, turn.lane, turn.place);
  return storedTask(row, content, { position: ahead?.n ?? 0, queuedAt: turn.queued_at });
}

/** Appends an event from outside a run; nothing when the task has ended. The caller sets the status. */
export function* appendFromOutside(
  task: number,
  event: NewEvent,
  at: Instant,
): Steps<{ readonly head: HeadRow; readonly committed: readonly Event[] } | undefined> {
  const { texts, length } = inWords([event]);
  const head = yield* first(ADVANCE_TASK, 1, length, endsTask([event]) ? 1 : 0, task);
  if (!head) return undefined;
  const { rows, committed } = numbered(task, head.seq, [event], at, texts);
  yield* insertEvents(head, rows);
  return { head, committed };
}

/** Nothing sets a state but a move of the table; a step that tries is wrong, and writes nothing. */
const wrongMove = (from: State, events: readonly NewEvent[]): string | undefined => {
  let state = from;
  for (const event of events) {
    if (event.kind === 'artifact-added' || event.kind === 'task-put') continue;
    if (!canMove(state, event.state)) return `from ${state} to ${event.state} (${event.kind})`;
    state = event.state;
  }
  return undefined;
};

export const requireMoves = (from: State, events: readonly NewEvent[]): void => {
  const wrong = wrongMove(from, events);
  if (wrong) throw new Error(`A task cannot go ${wrong}.`);
};

/**
 * What a list sorts and filters by must be true at every moment; the content of the row need not be. `from` is the
 * state that the task is most probably in: nobody looks first.
 */
export function* setStatus(task: number, from: State, news: readonly Event[]): Steps<void> {
  const last = news.findLast(({ event }) => event.kind !== 'artifact-added');
  if (!last || last.event.kind === 'artifact-added') return;
  const { state } = last.event;
  const set = (before: State): Steps<{ k: number } | undefined> =>
    first(SET_STATUS, state, openFlag(state), last.at, last.at, task, before);
  const events = news.map(({ event }) => event);
  if (!wrongMove(from, events) && (yield* set(from))) return;
  const found = yield* first(STATE_OF, task);
  if (!found) return;
  requireMoves(found.status_state as State, events);
  yield* set(found.status_state as State);
}

/** Below this many bytes a tail is cheaper to fold at each read than to fold once and store, while more comes in. */
const LONG_TAIL = 256 * 1024;
/** The same for a whole task whose turn has ended. Most are shorter than that, and are stored once: as their events. */
export const LONG_TASK = 4 * 1024;

/** Folds a tail that has outgrown what is folded already: the work is proportional to what was appended since. */
export function* foldLongTail(task: number, head: HeadRow): Steps<void> {
  if (head.tail >= LONG_TAIL && head.tail >= head.content) yield* foldTail(task);
}

/** Folds a task that is too long to be folded at each read, now that nothing more comes in for a while. */
export function* foldLongTask(task: number, head: Pick<HeadRow, 'content' | 'tail'>): Steps<void> {
  if (head.content + head.tail >= LONG_TASK) yield* foldTail(task);
}

function* foldTail(task: number): Steps<void> {
  const row = yield* first(TASK_BY_KEY, task);
  if (!row) return;
  const content = contentOf(row, yield* rowsAfter(row.k, row.folded));
  const { status_message, artifacts, history, metadata, folded } = content;
  yield* first(SET_CONTENT, status_message, artifacts, history, metadata, folded, task);
  yield* first(SET_HEAD_FOLDED, sizeOf(content), task);
}

export const sizeOf = (row: Pick<TaskRow, 'artifacts' | 'history' | 'metadata'>): number =>
  row.artifacts.length + row.history.length + row.metadata.length;

export const endsTask = (events: readonly NewEvent[]): boolean =>
  events.some((event) => event.kind !== 'artifact-added' && isTerminal(event.state));
