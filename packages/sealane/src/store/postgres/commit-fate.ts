import { setTimeout as delay } from 'node:timers/promises';

import type { Pool, QueryResult } from 'pg';

import { type Param, type Statement, StepConflict } from '../steps/step.ts';
import { EVENT_INSERTS } from '../steps/events.sql.ts';

/** Sent at the beginning of a transaction, so that its outcome can be looked up if the answer to its COMMIT is lost. */
export const NAME_TRANSACTION = {
  name: 'name_transaction',
  text: 'SELECT pg_current_xact_id()::TEXT AS xid, pg_postmaster_start_time()::TEXT AS since',
  values: [],
};
interface Named {
  readonly xid: string;
  /** When the server that gave the number was started. */
  readonly since: string;
}

/** A row that the transaction inserts into the log. No other transaction inserts the same row. */
export type Trace = readonly Param[];
const TRACE_COLUMNS = 4;

export const traceOf = (statement: Statement, row: readonly Param[]): Trace | undefined =>
  EVENT_INSERTS.has(statement) ? row.slice(0, TRACE_COLUMNS) : undefined;

/** A replica does not count: a transaction may be unknown there only because it has not arrived yet. */
const FATE = `
  SELECT pg_xact_status($1::TEXT::XID8) AS fate, pg_postmaster_start_time()::TEXT AS since
  WHERE NOT pg_is_in_recovery()`;
const HAS_TRACE = 'SELECT 1 FROM events WHERE task = $1 AND seq = $2 AND at = $3 AND data = $4';
const IN_THE_FUTURE = '22023';
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;

/** True while the outcome of a transaction is still asked for, `forMs` after its COMMIT, although no server answers. */
export type IsCurious = (forMs: number) => boolean;

/**
 * Resolves if the transaction was committed. Throws a conflict, to start again, if it was not, and `unknown` if there
 * is no way to know.
 *
 * A crash takes back the numbers of transactions that had not reached the disk, and other transactions get them. So if
 * the number is in the future of the server, the transaction is lost. If the server says that the number was committed,
 * it may mean another transaction: the log decides. A transaction that leaves no trace in the log can only trust a
 * server that has not been started again since.
 */
export const learnFate = async (
  pool: Pool,
  asked: Promise<QueryResult>,
  trace: Trace | undefined,
  unknown: unknown,
  isCurious: IsCurious,
): Promise<void> => {
  const named = await asked.then(
    ({ rows }) => (rows as Named[])[0],
    () => undefined,
  );
  if (named === undefined) throw unknown;
  const since = performance.now();
  for (let pauseMs = FIRST_PAUSE_MS; isCurious(performance.now() - since); await delay(pauseMs)) {
    pauseMs = Math.min(pauseMs * 1.2, LONGEST_PAUSE_MS);
    const fate = await fateOf(pool, named, trace).catch(() => undefined);
    if (fate === 'committed') return;
    if (fate === 'aborted') throw new StepConflict();
    if (fate === 'unknown') break;
  }
  throw unknown;
};

const fateOf = async (pool: Pool, { xid, since }: Named, trace: Trace | undefined): Promise<string | undefined> => {
  const told = await pool.query<{ fate: string | null; since: string }>(FATE, [xid]).then(
    ({ rows }) => rows[0],
    (error: { readonly code?: unknown }) => {
      if (error.code === IN_THE_FUTURE) return { fate: 'aborted', since };
      throw error;
    },
  );
  if (!told) return undefined;
  const isSameServer = told.since === since;
  // After another start, the number may belong to another transaction, which may run for hours. Ours is over in any
  // case. For a number from long ago, the server does not keep the outcome any more.
  if (trace && (!isSameServer || told.fate === 'committed' || told.fate === null)) {
    return (await pool.query(HAS_TRACE, [...trace])).rowCount ? 'committed' : 'aborted';
  }
  if (told.fate === null || (told.fate === 'committed' && !isSameServer)) return 'unknown';
  return told.fate;
};
