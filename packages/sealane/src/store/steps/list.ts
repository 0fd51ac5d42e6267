import { SealaneError, type State, STATES } from '#domain';

import { COUNT_LIMIT, type ListQuery, type Page, type Scope, type StoredTask } from '../task-store.ts';
import { all, first, type Param, type Statement, sql, type Steps } from './step.ts';
import { SIZES } from './heads.sql.ts';
import { loadGroup, openFlag } from './task-view.ts';
import { GROUP, inGroup } from './tasks.sql.ts';

/**
 * Reads one ordered range of an index per state, and merges them. So every combination of filters costs a few range
 * scans of about one page each, whatever the size of the table.
 */
export function* list(scope: Scope, query: ListQuery): Steps<Page> {
  const filter = filterOf(scope, query);
  if (filter.states.length === 0) return { tasks: [], total: 0 };
  const keys = yield* query.order === 'inserted' ? insertedPage(filter, query) : updatedPage(filter, query);
  const total = yield* count(filter);
  const page = keys.slice(0, query.limit);
  const tasks: StoredTask[] = [];
  let done = 0;
  let length = 0;
  while (done < page.length && length < PAGE_LENGTH) {
    const group = yield* thatFit(
      PAGE_LENGTH - length,
      page.slice(done, done + GROUP).map(({ k }) => k),
    );
    for (const task of yield* loadGroup(group, query.withArtifacts)) {
      tasks.push(task);
      length += task.history.length + task.artifacts.length;
    }
    done += group.length;
  }
  const last = page[done - 1];
  const hasMore = done < page.length || keys.length > query.limit;
  return { tasks, total, ...(last && hasMore && { next: encodeCursor(query.order, last) }) };
}

/** A page is one text on its way to the caller, and tasks can be large. So a page ends early at this length. */
const PAGE_LENGTH = 16 * 1024 * 1024;

/** The first of these tasks, up to the one that fills the room. More would be too much to hold in memory at once. */
function* thatFit(room: number, keys: readonly number[]): Steps<readonly number[]> {
  const sizes = new Map((yield* all(SIZES, ...inGroup(keys))).map(({ task, size }) => [task, size]));
  let length = 0;
  const last = keys.findIndex((key) => (length += sizes.get(key) ?? 0) >= room);
  return last === -1 ? keys : keys.slice(0, last + 1);
}

interface Filter {
  readonly where: readonly string[];
  readonly params: readonly Param[];
  readonly states: readonly State[];
}

interface Position {
  readonly k: number;
  readonly ts: string;
}

const filterOf = (scope: Scope, query: ListQuery): Filter => {
  const where: string[] = [];
  const params: Param[] = [];
  const must = (condition: string, param: Param | undefined): void => {
    if (param === undefined) return;
    where.push(condition);
    params.push(param);
  };
  if (scope !== 'all') {
    must('owner = ?', scope.owner);
    must('tenant = ?', scope.tenant);
    must('agent = ?', scope.agent);
  }
  must('owner = ?', query.owner);
  must('context_id = ?', query.contextId);
  must('agent = ?', query.agent);
  must('status_timestamp >= ?', query.since);
  where.push('direct = 0');
  return { where, params, states: query.states ?? STATES };
};

function* updatedPage(filter: Filter, query: ListQuery): Steps<readonly Position[]> {
  const after = query.after === undefined ? undefined : decodeCursor(query.order, query.after);
  const where = [...filter.where, ...(after ? ['(status_timestamp, k) < (?, ?)'] : [])];
  const params = [...filter.params, ...(after ? [after.ts, after.k] : [])];
  // The literal `open` tells the database which partial index has the tasks of a state.
  const run = (state: State): string => `SELECT k, status_timestamp AS ts FROM tasks
    WHERE status_state = ? AND open = ${openFlag(state)} AND ${where.join(' AND ')}
    ORDER BY status_timestamp DESC, k DESC LIMIT ?`;
  const limit = query.limit + 1;
  const text = `SELECT k, ts FROM (${filter.states.map((state, index) => `SELECT * FROM (${run(state)}) AS s${index}`).join(' UNION ALL ')}) AS merged
    ORDER BY ts DESC, k DESC LIMIT ?`;
  const bound = filter.states.flatMap((state): Param[] => [state, ...params, limit]);
  return yield* all(prepared<Position>(text), ...bound, limit);
}

function* insertedPage(filter: Filter, query: ListQuery): Steps<readonly Position[]> {
  const after = query.after === undefined ? undefined : decodeCursor(query.order, query.after);
  const states = filter.states.map(() => '?').join(', ');
  // If all states have the same `open`, the literal lets the database find the few open tasks without reading the
  // others.
  const [open, ...others] = new Set(filter.states.map(openFlag));
  const isOpen = open === undefined || others.length > 0 ? [] : [`open = ${open}`];
  const where = [...filter.where, ...isOpen, `status_state IN (${states})`, ...(after ? ['k > ?'] : [])];
  const text = `SELECT k, status_timestamp AS ts FROM tasks WHERE ${where.join(' AND ')} ORDER BY k LIMIT ?`;
  const params = [...filter.params, ...filter.states, ...(after ? [after.k] : [])];
  return yield* all(prepared<Position>(text), ...params, query.limit + 1);
}

function* count(filter: Filter): Steps<number> {
  let total = 0;
  for (const open of [1, 0]) {
    const states = filter.states.filter((state) => openFlag(state) === open);
    if (states.length === 0) continue;
    const text = `SELECT count(*) AS n FROM (
      SELECT 1 FROM tasks WHERE status_state IN (${states.map(() => '?').join(', ')}) AND open = ${open}
        AND ${filter.where.join(' AND ')} LIMIT ?) AS counted`;
    total += (yield* first(prepared<{ n: number }>(text), ...states, ...filter.params, COUNT_LIMIT + 1))?.n ?? 0;
  }
  return Math.min(total, COUNT_LIMIT + 1);
}

/** Lists have few shapes. Each shape is one statement, so that drivers keep it prepared. */
const shapes = new Map<string, Statement>();
const prepared = <R extends object>(text: string): Statement<R> => {
  let statement = shapes.get(text);
  if (!statement) shapes.set(text, (statement = sql(text)));
  return statement as Statement<R>;
};

/** A cursor is a place in the order, not a row. It stays valid when tasks are updated or deleted between pages. */
const encodeCursor = (order: ListQuery['order'], { ts, k }: Position): string =>
  Buffer.from(JSON.stringify([order, ts, k])).toString('base64url');

const decodeCursor = (order: ListQuery['order'], text: string): Position => {
  try {
    const [kind, ts, k] = JSON.parse(Buffer.from(text, 'base64url').toString()) as [unknown, unknown, unknown];
    if (kind === order && typeof ts === 'string' && Number.isSafeInteger(k)) return { ts, k: k as number };
  } catch {
    // falls through to the refusal
  }
  throw new SealaneError(
    'invalid-params',
    'The page token is not one that this service made: list again from the start.',
    {
      facts: { field: 'pageToken' },
    },
  );
};
