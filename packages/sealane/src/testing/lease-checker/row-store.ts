import { addressOf, seeIn } from './statement.ts';
import type { Change, Ending, Insert, Rows, Statement, Transaction } from './statement.ts';

/**
 * PostgreSQL's READ COMMITTED, reduced to what a race can turn on.
 *
 * - A plain SELECT reads the committed rows of the moment, under its own transaction's writes.
 * - SELECT … FOR UPDATE, UPDATE and DELETE take two steps. First the statement takes its snapshot: it evaluates its
 *   sub-selects and finds its candidate rows. Then, however much later, it locks the candidates one after another,
 *   waiting for (or with SKIP LOCKED passing over) rows that another transaction holds. The newest committed version of
 *   each locked row is read and the WHERE is evaluated again, on that row only: the sub-selects keep the old snapshot.
 *   A row that fails this second look stays locked until the transaction ends, as in PostgreSQL.
 * - INSERT waits for an uncommitted row with the same key, and fails on a committed one.
 * - Writes are seen by others at commit, which is one step; locks go with the transaction.
 */

/** A transaction between two of its steps, as plain data: its generator is run again from the answers it has had. */
export interface OpenTransaction {
  readonly answers: readonly unknown[];
  /** A statement that has its snapshot and has yet to lock and write. */
  readonly pending: Pending | null;
  readonly locks: readonly string[];
  readonly writes: Readonly<Record<string, object | null>>;
}
interface Pending {
  readonly candidates: readonly string[];
  readonly subselected: unknown;
  readonly answer: readonly unknown[];
}

export const opened: OpenTransaction = { answers: [], pending: null, locks: [], writes: {} };

export type Stepped =
  | { readonly kind: 'moved'; readonly tx: OpenTransaction; readonly note: string }
  | { readonly kind: 'waits'; readonly address: string }
  | { readonly kind: 'failed'; readonly why: string };

/** Where the transaction stands: its next statement, or how it wants to end. */
export const resume = <T>(transaction: Transaction<T>, tx: OpenTransaction): IteratorResult<Statement, Ending<T>> => {
  let next = transaction.next();
  for (const answer of tx.answers) next = transaction.next(answer);
  return next;
};

/** Takes one step of one statement. `isTaken` tells whether another transaction holds the row. */
export const step = (
  statement: Statement,
  tx: OpenTransaction,
  committed: Rows,
  isTaken: (address: string) => boolean,
): Stepped => {
  if (statement.kind === 'read') {
    const answer = statement.read(seeIn(withWrites(committed, tx.writes)));
    return moved(answered(tx, answer), `reads ${JSON.stringify(answer) ?? 'nothing'}`);
  }
  if (statement.kind === 'insert') return stepInsert(statement, tx, committed, isTaken);
  return tx.pending === null
    ? takeSnapshot(statement, tx, committed)
    : lockAndWrite(statement, tx, tx.pending, committed, isTaken);
};

const moved = (tx: OpenTransaction, note: string): Stepped => ({ kind: 'moved', tx, note });

const answered = (tx: OpenTransaction, answer: unknown): OpenTransaction => ({
  ...tx,
  answers: [...tx.answers, answer],
  pending: null,
});

const takeSnapshot = (statement: Change, tx: OpenTransaction, committed: Rows): Stepped => {
  const see = seeIn(withWrites(committed, tx.writes));
  const subselected = statement.subselect(see) ?? null;
  const candidates = see(statement.table)
    .filter((row) => statement.where(row, subselected))
    .map((row) => addressOf(statement.table, row));
  if (candidates.length === 0) return moved(answered(tx, []), 'finds no row');
  const pending: Pending = { candidates, subselected, answer: [] };
  // Nobody can come between the snapshot of rows that are already ours and our write to them.
  if (candidates.every((address) => tx.locks.includes(address)))
    return lockAndWrite(statement, tx, pending, committed, () => false);
  return moved({ ...tx, pending }, `takes its snapshot and finds ${candidates.join(', ')}`);
};

const lockAndWrite = (
  statement: Change,
  before: OpenTransaction,
  pending: Pending,
  committed: Rows,
  isTaken: (address: string) => boolean,
): Stepped => {
  let tx = before;
  const answer = [...pending.answer];
  const notes: string[] = [];
  for (const [index, address] of pending.candidates.entries()) {
    if (answer.length >= statement.limit) break;
    if (isTaken(address)) {
      if (statement.skipLocked) {
        notes.push(`skips ${address}`);
        continue;
      }
      if (index === 0) return { kind: 'waits', address };
      const rest: Pending = { ...pending, candidates: pending.candidates.slice(index), answer };
      return moved({ ...tx, pending: rest }, `${notes.join(', ')}, then waits for ${address}`);
    }
    const row = address in tx.writes ? tx.writes[address] : committed[address];
    if (row === undefined || row === null) {
      notes.push(`finds ${address} deleted`);
      continue;
    }
    tx = withLock(tx, address);
    if (!statement.where(row, pending.subselected)) {
      notes.push(`locks ${address}, which no longer matches`);
      continue;
    }
    const next = statement.write ? statement.write(row) : row;
    if (statement.write) tx = withWrite(tx, address, next);
    answer.push(statement.returning(next ?? row, pending.subselected));
    notes.push(statement.write ? `writes ${address} ${JSON.stringify(next)}` : `locks ${address}`);
  }
  return moved(answered(tx, answer), notes.join(', '));
};

const stepInsert = (
  { address, row, onlyIf }: Insert,
  tx: OpenTransaction,
  committed: Rows,
  isTaken: (address: string) => boolean,
): Stepped => {
  if (onlyIf && tx.pending === null) {
    if (!onlyIf(seeIn(withWrites(committed, tx.writes)))) return moved(answered(tx, []), 'inserts nothing');
    const pending: Pending = { candidates: [address], subselected: null, answer: [] };
    return moved({ ...tx, pending }, 'takes its snapshot and finds its condition true');
  }
  if (isTaken(address)) return { kind: 'waits', address };
  if (address in committed || address in tx.writes)
    return { kind: 'failed', why: `unique violation: ${address} exists already` };
  const next = withWrite(withLock(tx, address), address, row);
  return moved(answered(next, [row]), `writes ${address} ${JSON.stringify(row)}`);
};

const withLock = (tx: OpenTransaction, address: string): OpenTransaction =>
  tx.locks.includes(address) ? tx : { ...tx, locks: [...tx.locks, address].sort() };

const withWrite = (tx: OpenTransaction, address: string, row: object | null): OpenTransaction => ({
  ...tx,
  writes: sorted({ ...tx.writes, [address]: row }),
});

/** The rows as they are once these writes count. */
export const withWrites = (rows: Rows, writes: OpenTransaction['writes']): Rows => {
  if (Object.keys(writes).length === 0) return rows;
  const next: Record<string, object> = {};
  for (const [address, row] of Object.entries(sorted({ ...rows, ...writes }))) if (row !== null) next[address] = row;
  return next;
};

const sorted = <T>(record: Readonly<Record<string, T>>): Record<string, T> =>
  Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
