import type { Event, Message, Seq, State } from '#domain';

import type { Instant, Scope, StoredTask, TaskFacts } from '../task-store.ts';
import { type Content, contentOf } from './content.ts';
import { eventOf, type EventRow } from './event-text.ts';
import { EVENTS_AFTER, STATES_AFTER } from './events.sql.ts';
import { LOCK_HEAD } from './heads.sql.ts';
import { TURN, TURNS_AHEAD } from './lanes.sql.ts';
import { all, first, type Steps } from './step.ts';
import {
  FACTS_BY_ID,
  FACTS_BY_KEY,
  type FactsRow,
  HISTORY_OF,
  inGroup,
  PEEK,
  REMOVED_BY_ID,
  TAILS,
  TASK_BY_ID,
  TASK_BY_KEY,
  type TaskRow,
  TASKS_BY_KEY,
} from './tasks.sql.ts';

// How a task is read. A step that needs only its state, or to know that it exists, does not load its content.

/** The value of the column `open`: 1 if a task of this state waits or runs. */
export const openFlag = (state: string): number => (state === 'submitted' || state === 'working' ? 1 : 0);

export const sizeOf = (row: Pick<TaskRow, 'artifacts' | 'history' | 'metadata'>): number =>
  row.artifacts.length + row.history.length + row.metadata.length;

const inScope = (scope: Scope, row: FactsRow): boolean =>
  scope === 'all' ||
  (row.owner === scope.owner &&
    row.tenant === scope.tenant &&
    (scope.agent === undefined || row.agent === scope.agent));

/** Nobody finds a removed task, not even by the name that its row has now. */
const isVisible = (scope: Scope, row: FactsRow): boolean => row.removed_id === null && inScope(scope, row);

/** The task of that id if the scope may see it, without its content. A foreign one is as absent as an unknown one. */
export function* visibleTask(scope: Scope, id: string): Steps<FactsRow | undefined> {
  const row = yield* first(FACTS_BY_ID, id);
  return row && isVisible(scope, row) ? row : undefined;
}

/**
 * The task, with its head locked: no other step writes its events until this one commits. Undefined if the task was
 * deleted before the lock.
 */
export function* lockedTask(scope: Scope, id: string): Steps<FactsRow | undefined> {
  const row = yield* visibleTask(scope, id);
  if (!row) return undefined;
  yield* first(LOCK_HEAD, row.k);
  const now = yield* first(FACTS_BY_KEY, row.k);
  return now?.removed_id === null ? now : undefined;
}

/** The task without its content, with the number of its last event, from one snapshot. */
export function* peek(scope: Scope, id: string): Steps<TaskFacts | undefined> {
  const row = yield* first(PEEK, id);
  return row && isVisible(scope, row) ? factsOf(row, row.status_state, row.seq) : undefined;
}

/** The whole task and the number of its last event, from one snapshot of the database. */
export function* find(scope: Scope, id: string): Steps<StoredTask | undefined> {
  const row = yield* first(TASK_BY_ID, id);
  return row && isVisible(scope, row) ? yield* loadTask(row) : undefined;
}

const factsOf = (row: Omit<FactsRow, 'k'>, state: string, seq: number): TaskFacts => ({
  id: row.id,
  contextId: row.context_id,
  owner: row.owner,
  tenant: row.tenant,
  agent: row.agent,
  dialect: row.dialect,
  lane: row.session,
  direct: row.direct === 1,
  state: state as State,
  statusAt: row.status_timestamp,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  seq,
});

/** A row as the port promises it: the whole task as of event `seq`. */
const storedTask = (
  row: Omit<FactsRow, 'k'>,
  content: Content,
  queue?: { position: number; queuedAt: Instant },
): StoredTask => ({
  ...factsOf(row, content.status_state, content.folded),
  statusAt: content.status_timestamp,
  statusMessage: content.status_message,
  artifacts: content.artifacts,
  history: content.history,
  metadata: content.metadata,
  ...(queue && { queuePosition: queue.position, queuedAt: queue.queuedAt }),
});

/** For a row that is up to date, of a task without a waiting turn. */
export const viewOfRow = (row: TaskRow): StoredTask => storedTask(row, row);

/** The task with all its events, and with its place in its lane while it waits. */
function* loadTask(row: TaskRow): Steps<StoredTask> {
  return yield* inLane(row, contentOf(row, yield* rowsAfter(row.k, row.folded)));
}

export function* reloadTask(task: number): Steps<StoredTask> {
  const row = yield* first(TASK_BY_KEY, task);
  if (!row) throw new Error(`Task ${task} disappeared inside its own step.`);
  return yield* loadTask(row);
}

/** At most `GROUP` tasks, in the order of `keys`, without those that were deleted. */
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

const ALL = Number.MAX_SAFE_INTEGER;

/** The rows of the log after number `after`. */
export function* rowsAfter(task: number, after: number, limit = ALL): Steps<readonly EventRow[]> {
  return yield* all(EVENTS_AFTER, task, after, limit);
}

/**
 * A task that was removed and is hidden. No call finds it, but a reader that followed it learns how it ended, as long
 * as its log exists.
 */
function* removedTask(scope: Scope, id: string): Steps<FactsRow | undefined> {
  return (yield* all(REMOVED_BY_ID, id)).find((row) => inScope(scope, row));
}

export function* read(scope: Scope, id: string, after: Seq, limit: number): Steps<readonly Event[]> {
  const row = (yield* visibleTask(scope, id)) ?? (yield* removedTask(scope, id));
  return row ? (yield* rowsAfter(row.k, after, limit)).map(eventOf) : [];
}

/** The messages of the task so far. The chunks of its answers, which may be most of the log, are not read. */
export function* messagesOf({ k, folded }: Pick<FactsRow, 'k' | 'folded'>): Steps<readonly Message[]> {
  const known = yield* first(HISTORY_OF, k);
  const history = JSON.parse(known?.history ?? '[]') as readonly Message[];
  const news = (yield* all(STATES_AFTER, k, folded, ALL)).map(eventOf);
  return [...history, ...news.flatMap(({ event }) => ('message' in event && event.message ? [event.message] : []))];
}
