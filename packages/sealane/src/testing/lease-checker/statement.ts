/** Statements and transactions as data, with builders that let a transaction be written like its SQL. */
export interface Table<R extends object> {
  readonly name: string;
  readonly key: (row: R) => string;
}

/** All committed rows under `table/key`, in the order of their keys. */
export type Rows = Readonly<Record<string, object>>;

/** How a statement looks at a table. */
export type See = <R extends object>(table: Table<R>) => readonly R[];

export const addressOf = <R extends object>(table: Table<R>, row: R): string => `${table.name}/${table.key(row)}`;

export const seeIn =
  (rows: Rows): See =>
  <R extends object>(table: Table<R>) => {
    const found: R[] = [];
    for (const address in rows) if (address.startsWith(`${table.name}/`)) found.push(rows[address] as R);
    return found;
  };

interface Read {
  readonly kind: 'read';
  readonly sql: string;
  readonly read: (see: See) => unknown;
}
export interface Change {
  readonly kind: 'change';
  readonly sql: string;
  readonly table: Table<object>;
  readonly subselect: (see: See) => unknown;
  readonly where: (row: object, subselected: unknown) => boolean;
  /** The row's next version, `null` for DELETE; FOR UPDATE leaves it out. */
  readonly write: ((row: object) => object | null) | undefined;
  readonly returning: (row: object, subselected: unknown) => unknown;
  readonly limit: number;
  readonly skipLocked: boolean;
}
export interface Insert {
  readonly kind: 'insert';
  readonly sql: string;
  readonly address: string;
  readonly row: object;
  /** INSERT … SELECT … WHERE EXISTS (…): looked at in the statement's snapshot, before the row is written. */
  readonly onlyIf: ((see: See) => boolean) | undefined;
}
export type Statement = Read | Change | Insert;

/** A transaction yields statements and is given their answers; what it returns says how it ends. */
export type Transaction<T> = Generator<Statement, Ending<T>, unknown>;
export type Ending<T> = { readonly commit: true; readonly value: T } | { readonly commit: false };
export const commit = <T>(value: T): Ending<T> => ({ commit: true, value });
export const rollback: Ending<never> = { commit: false };

type Step<T> = Generator<Statement, T, unknown>;

export function* select<T>(sql: string, read: (see: See) => T): Step<T> {
  return (yield { kind: 'read', sql, read }) as T;
}

interface Lock<R, S, T> {
  readonly subselect?: (see: See) => S;
  readonly where: (row: R, subselected: S) => boolean;
  readonly returning?: (row: R, subselected: S) => T;
  readonly limit?: number;
  readonly skipLocked?: boolean;
}

export function* selectForUpdate<R extends object, S = undefined, T = R>(
  sql: string,
  table: Table<R>,
  lock: Lock<R, S, T>,
): Step<readonly T[]> {
  return (yield change(sql, table, lock, undefined)) as readonly T[];
}

/** Returns the new versions of the rows, as RETURNING does. */
export function* update<R extends object>(
  sql: string,
  table: Table<R>,
  where: (row: R) => boolean,
  set: (row: R) => Partial<R>,
): Step<readonly R[]> {
  return (yield change(sql, table, { where }, (row) => ({ ...row, ...set(row as R) }))) as readonly R[];
}

export function* deleteFrom<R extends object>(
  sql: string,
  table: Table<R>,
  where: (row: R) => boolean,
): Step<readonly R[]> {
  return (yield change(sql, table, { where }, () => null)) as readonly R[];
}

export function* insert<R extends object>(
  sql: string,
  table: Table<R>,
  row: R,
  onlyIf?: (see: See) => boolean,
): Step<readonly R[]> {
  return (yield { kind: 'insert', sql, address: addressOf(table, row), row, onlyIf }) as readonly R[];
}

const change = <R extends object, S, T>(
  sql: string,
  table: Table<R>,
  lock: Lock<R, S, T>,
  write: Change['write'],
): Change => ({
  kind: 'change',
  sql,
  table: table as Table<object>,
  subselect: lock.subselect ?? (() => undefined),
  where: lock.where as Change['where'],
  write,
  returning: (lock.returning as Change['returning'] | undefined) ?? ((row) => row),
  limit: lock.limit ?? Infinity,
  skipLocked: lock.skipLocked ?? false,
});
