import { canMove, type Event, isTerminal, type NewEvent, type State } from '#domain';

import type { Instant } from '../task-store.ts';
import { foldInto } from './content.ts';
import { eventOf, isoOf, numbered, textOfEvent } from './event-text.ts';
import { INSERT_EVENT, INSERT_TWO_EVENTS } from './events.sql.ts';
import { type HeadRow, SET_HEAD_FOLDED } from './heads.sql.ts';
import { owe } from './owe.ts';
import { each, first, type Steps } from './step.ts';
import { openFlag, rowsAfter, sizeOf } from './task-view.ts';
import { INSERT_TASK, SET_FOLDED, SET_STATUS, STATE_OF, TASK_BY_KEY, type TaskRow } from './tasks.sql.ts';

/** The numbers by which these events advance a head. The statement of `advance` needs them. */
export interface News {
  readonly task: number;
  readonly count: number;
  /** The length of the texts of the events. */
  readonly length: number;
  /** 1: the events end the task. */
  readonly ended: number;
}

/** The columns of a task that does not exist yet. */
export type NewTask = Pick<
  TaskRow,
  'id' | 'context_id' | 'metadata' | 'owner' | 'tenant' | 'agent' | 'dialect' | 'session' | 'direct' | 'turns'
>;

export interface Commit {
  /** The store's key of the task, or the columns of a new task. */
  readonly task: number | NewTask;
  /**
   * The state that the task most probably has. A wrong guess costs one more read. A new task has no state, and a fold
   * finds it by itself.
   */
  readonly from?: State;
  readonly events: readonly NewEvent[];
  readonly at: Instant;
  /**
   * `turn`: the turn is over, so the task is folded. `tail`: the task is folded only if its unfolded tail has become
   * long.
   */
  readonly fold: 'turn' | 'tail';
  /** The caller's fence. It advances the head, and may move the turn in it. No row: nothing is written. */
  readonly advance: (news: News) => Steps<HeadRow | undefined>;
}

export interface Committed {
  readonly task: number;
  readonly head: HeadRow;
  readonly events: readonly Event[];
  /** The whole row, if the task was folded. */
  readonly row: TaskRow | undefined;
}

/**
 * The only way into the log, and the only writer of a task's state. It runs the caller's fence first. Then it writes
 * the log, the state and the folded content, and what is owed to followers.
 *
 * It writes only rows of its own task, and runs no code of a kind of follower. Many calls share one transaction, and
 * two calls that write the same row would wait for each other. The calling step moves the lane and wakes the listeners,
 * because only that step knows why.
 */
export function* commitEvents(commit: Commit): Steps<Committed | undefined> {
  const { events, at } = commit;
  const texts = events.map(textOfEvent);
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  const isNew = typeof commit.task !== 'number';
  const task = isNew ? yield* insertTask(commit.task, events, at) : commit.task;
  const head = yield* commit.advance({ task, count: events.length, length, ended: endsTask(events) ? 1 : 0 });
  if (!head) return undefined;

  const firstSeq = head.seq - events.length + 1;
  yield* insertTexts(task, firstSeq, at, texts);
  const committed = numbered(firstSeq, events, at);
  const isFolded = commit.fold === 'turn' || isLongTail(head);
  const row = isFolded ? yield* foldTask(task, committed, isNew) : undefined;
  if (commit.fold === 'tail' && row) yield* first(SET_HEAD_FOLDED, sizeOf(row), task);
  const before = row ? row.before : yield* setStatus(task, commit.from, committed);
  if (head.follows > 0) yield* owe({ type: 'task', key: task }, head.follows, before, committed);
  return { task, head, events: committed, row };
}

export const endsTask = (events: readonly NewEvent[]): boolean =>
  events.some((event) => event.kind !== 'artifact-added' && isTerminal(event.state));

function* insertTask(task: NewTask, events: readonly NewEvent[], at: Instant): Steps<number> {
  const [begin, ...rest] = events;
  if (!begin || begin.kind === 'artifact-added') throw new Error('A task begins with an event that has a state.');
  requireMoves(begin.state, rest);
  const state = lastReport(numbered(1, events, at))?.state ?? begin.state;
  const iso = isoOf(at);
  const { id, context_id, metadata, owner, tenant, agent, dialect, session, direct, turns } = task;
  const facts = [owner, tenant, agent, dialect, session, direct, turns] as const;
  const inserted = yield* first(INSERT_TASK, id, context_id, state, iso, iso, iso, metadata, ...facts, openFlag(state));
  if (!inserted) throw new Error('The database did not say which key the task got.');
  return inserted.k;
}

/** Most turns begin and end with two events at once, so two events are one statement. */
function* insertTexts(task: number, firstSeq: number, at: Instant, texts: readonly string[]): Steps<void> {
  const rows = texts.map((text, index) => [task, firstSeq + index, at, text] as const);
  if (rows.length === 2) yield* first(INSERT_TWO_EVENTS, ...rows.flat());
  else yield* each(INSERT_EVENT, rows);
}

/** Says why these events cannot follow a state. A state changes only by a move of the table of states. */
const wrongMove = (from: State, events: readonly NewEvent[]): string | undefined => {
  let state = from;
  for (const event of events) {
    if (event.kind === 'artifact-added' || event.kind === 'task-put') continue;
    if (!canMove(state, event.state)) return `A task cannot go from ${state} to ${event.state} (${event.kind}).`;
    state = event.state;
  }
  return undefined;
};

/** A step that tries another move has a bug, and writes nothing. */
const requireMoves = (from: State, events: readonly NewEvent[]): void => {
  const wrong = wrongMove(from, events);
  if (wrong !== undefined) throw new Error(wrong);
};

const newEvents = (committed: readonly Event[]): readonly NewEvent[] => committed.map(({ event }) => event);

/** The state and the time of the last event that has a state. */
const lastReport = (committed: readonly Event[]): { readonly state: State; readonly at: string } | undefined => {
  const last = committed.findLast(({ event }) => event.kind !== 'artifact-added');
  return last && last.event.kind !== 'artifact-added' ? { state: last.event.state, at: last.at } : undefined;
};

/**
 * Writes the columns that lists sort and filter by. They must be right at every moment; the content of the row need not
 * be. Answers the state before these events, as far as it had to know it.
 */
function* setStatus(task: number, from: State | undefined, committed: readonly Event[]): Steps<State | undefined> {
  const last = lastReport(committed);
  if (!last || from === undefined) return from;
  const set = (before: State): Steps<{ k: number } | undefined> =>
    first(SET_STATUS, last.state, openFlag(last.state), last.at, last.at, task, before);
  if (wrongMove(from, newEvents(committed)) === undefined && (yield* set(from))) return from;
  const before = (yield* first(STATE_OF, task))?.status_state as State | undefined;
  if (before === undefined) return undefined;
  requireMoves(before, newEvents(committed));
  yield* set(before);
  return before;
}

/** While more events come in, folding a shorter tail at each read is cheaper than storing the folded row. */
const LONG_TAIL = 256 * 1024;

/** The tail must also be as long as the content. So all folding costs in proportion to what was appended. */
const isLongTail = ({ tail, content }: HeadRow): boolean => tail >= LONG_TAIL && tail >= content;

/** Brings the state and the content of the row up to date. Also answers the state before. */
function* foldTask(
  task: number,
  committed: readonly Event[],
  isNew: boolean,
): Steps<TaskRow & { readonly before: State | undefined }> {
  const row = yield* first(TASK_BY_KEY, task);
  if (!row) throw new Error(`Task ${task} disappeared inside the step that writes it.`);
  const before = isNew ? undefined : (row.status_state as State);
  if (before !== undefined) requireMoves(before, newEvents(committed));
  // The new events are at hand: only those before them are read.
  const firstSeq = committed[0]?.seq ?? 1;
  const last = committed.at(-1)?.seq ?? row.folded;
  const earlier = (yield* rowsAfter(task, row.folded, Math.max(0, firstSeq - 1 - row.folded))).map(eventOf);
  const folded = { ...row, ...foldInto(row, [...earlier, ...committed], last) };
  const open = openFlag(folded.status_state);
  const updated_at = lastReport(committed)?.at ?? row.updated_at;
  const { status_state, status_message, status_timestamp } = folded;
  const status = [status_state, status_message, status_timestamp] as const;
  yield* first(
    SET_FOLDED,
    ...status,
    folded.artifacts,
    folded.history,
    folded.metadata,
    folded.folded,
    open,
    updated_at,
    task,
  );
  return { ...folded, open, updated_at, before };
}
