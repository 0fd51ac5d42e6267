/**
 * The store's algorithm is written once, as generators that yield statements and get rows back. A driver executes them:
 * SQLite inside its worker thread, many generators to one commit; PostgreSQL over a connection, statement by statement.
 * Everything that a generator yields between its start and its return is one atomic step.
 */
export type Param = string | number | null;
export type Row = Readonly<Record<string, Param>>;

/**
 * One SQL statement in the dialect that both databases share, with `?` for parameters and these words in braces:
 *
 * - `{lock}` locks the rows that it reads (SQLite has one writer and needs no lock);
 * - `{share-lock}` locks them only against changes;
 * - `{lock-free}` locks them, and skips rows that other steps have locked;
 * - `{new-key}` answers the key of an inserted row as `k`;
 * - `{changed}` answers a row if there was a row to change;
 * - `{position}(text, part)` is where a part stands in a text, from 1, or 0.
 *
 * `{new-key}` and `{changed}` are cheaper than RETURNING in a driver that knows the answer anyway. `now_ms()` is the database's clock.
 */
export interface Statement<R extends object = object> {
  readonly text: string;
  /** True: the statement only takes a lock, so a database with a single writer leaves it out. */
  readonly locksOnly: boolean;
  /** Only for types: what a row looks like. */
  readonly row?: R;
}

export const sql = <R extends object = object>(text: string): Statement<R> => ({ text, locksOnly: false });
export const lock = (text: string): Statement => ({ text, locksOnly: true });

export type Step =
  | { readonly kind: 'query'; readonly statement: Statement; readonly params: readonly Param[] }
  /** The same statement for every row of parameters; answers nothing. */
  | { readonly kind: 'each'; readonly statement: Statement; readonly rows: readonly (readonly Param[])[] }
  /**
   * After the commit, tell all instances: this task has new events, or (without a task) some lane may be ready. See
   * also `OWED_WORD`.
   */
  | { readonly kind: 'wake'; readonly task: string | undefined }
  /** From here on, `refuse` can undo what this call writes. */
  | { readonly kind: 'undo-point' };

export type Steps<T> = Generator<Step, T, readonly object[]>;

export function* all<R extends object>(statement: Statement<R>, ...params: Param[]): Steps<readonly R[]> {
  return (yield { kind: 'query', statement, params }) as readonly R[];
}

export function* first<R extends object>(statement: Statement<R>, ...params: Param[]): Steps<R | undefined> {
  return (yield { kind: 'query', statement, params })[0] as R | undefined;
}

export function* each(statement: Statement, rows: readonly (readonly Param[])[]): Steps<void> {
  yield { kind: 'each', statement, rows };
}

/**
 * A commit can wake with this word instead of the id of a task: something is owed to a follower. It cannot be an id,
 * because ids have no control characters. It stays inside the instance: other instances find what is owed by their
 * polls.
 */
export const OWED_WORD = '\n';

export function* wake(task?: string): Steps<void> {
  yield { kind: 'wake', task };
}

/**
 * A call that may refuse after it has written something yields this before its first write. Calls share transactions,
 * so a driver may need a savepoint to go back to. Calls that do not ask for it do not pay for it. A second undo point
 * in the same call, for example of an embedded step, does nothing.
 */
export function* undoPoint(): Steps<void> {
  yield { kind: 'undo-point' };
}

/** Thrown by `refuse`. The driver undoes what the call wrote, sends no wakes, and resolves the call with the value. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly value: unknown;

  constructor(value: unknown) {
    super('The step refused the call.');
    this.value = value;
  }
}

/** Ends the whole call, even from inside an embedded step. `value` is its result, and nothing is written. */
export function refuse(value: unknown): never {
  throw new Refused(value);
}

/** Thrown by a step that lost a race and can win it by starting again. The driver rolls back and repeats the step. */
export class StepConflict extends Error {
  override readonly name = 'StepConflict';
}
