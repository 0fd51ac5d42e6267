import type { Pool, PoolClient, QueryResult } from 'pg';

import { SealaneError } from '#domain';

import type { Param, Statement, Step, Steps } from '../steps/step.ts';
import { type IsCurious, learnFate, NAME_TRANSACTION, type Trace, traceOf } from './commit-fate.ts';
import { columnsOf, inPostgres, inPostgresForRows, type Prepared } from './dialect.ts';
import { isConnectionLost, isConnectionSpent, isOutcomeUnknown, outcomeUnknown } from './postgres-error.ts';

/** `write`: every statement sees what is committed when it begins. `read`: all statements see one snapshot. */
export type Mode = 'write' | 'read';

const BEGIN: Readonly<Record<Mode, string>> = {
  write: 'BEGIN ISOLATION LEVEL READ COMMITTED',
  read: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
};

/** Runs steps inside a transaction. Several may run side by side. `wakes` collects what is woken after the commit. */
export type RunSteps = <T>(steps: Steps<T>, wakes: Set<string>) => Promise<T>;

/**
 * Runs one transaction on a connection of the pool. Rejects with the first error. Nothing is written then, unless the
 * error says that the outcome is unknown.
 */
export const transact = async <T>(
  pool: Pool,
  mode: Mode,
  work: (run: RunSteps) => Promise<T>,
  isCurious: IsCurious,
): Promise<T> => {
  const client = await pool.connect();
  const pipeline = createPipeline(client);
  let named: Promise<QueryResult> | undefined;
  let done: { readonly value: T } | undefined;
  try {
    void pipeline.send(BEGIN[mode]);
    if (mode === 'write') named = pipeline.send(NAME_TRANSACTION);
    named?.catch(() => {});
    const value = await work((steps, wakes) => drive(steps, wakes, pipeline));
    done = { value };
    const committed = pipeline.end('COMMIT');
    // A read has its rows already. The next user of the connection waits behind this COMMIT.
    if (mode === 'write') await committed;
    else committed.catch(() => {});
    client.release();
    return value;
  } catch (error) {
    const cause = await pipeline.abandon(error);
    client.release(isConnectionSpent(cause) || isOutcomeUnknown(cause));
    if (done && named && isOutcomeUnknown(cause)) {
      await learnFate(pool, named, pipeline.trace(), cause, isCurious);
      return done.value;
    }
    throw cause;
  }
};

const NOTHING: readonly object[] = [];

const drive = async <T>(steps: Steps<T>, wakes: Set<string>, pipeline: Pipeline): Promise<T> => {
  let next = steps.next(NOTHING);
  while (!next.done) {
    const step = next.value;
    let rows = NOTHING;
    if (step.kind === 'wake') wakes.add(step.task ?? '');
    else if (step.kind !== 'undo-point') {
      // Needs no savepoint: a refusal rolls back the whole transaction, and the other calls of its group are run alone.
      const answer = pipeline.execute(step);
      if (answer) rows = (await answer).rows;
    }
    next = steps.next(rows);
  }
  return next.value;
};

interface Pipeline {
  send(query: string | (Pick<Prepared, 'name' | 'text'> & { values: unknown[] })): Promise<QueryResult>;
  /** The answer to wait for, if the statement gives rows. */
  execute(step: Extract<Step, { kind: 'query' | 'each' }>): Promise<QueryResult> | undefined;
  end(command: 'COMMIT'): Promise<void>;
  /** The first row that the transaction has sent for the log. */
  trace(): Trace | undefined;
  /** Rolls back a transaction that has not ended. Answers the first error. */
  abandon(thrown: unknown): Promise<unknown>;
}

/**
 * The pipeline waits only for statements that give rows. It sends the others together with what follows, BEGIN and
 * COMMIT included. So a step costs as many round trips as it asks questions. The server executes in the order of
 * sending. After the first failure it refuses the rest, and a COMMIT behind them ends as a rollback.
 */
const createPipeline = (client: PoolClient): Pipeline => {
  let first: { readonly error: unknown } | undefined;
  let isEnding = false;
  const sent: Promise<unknown>[] = [];
  let trace: Trace | undefined;
  let isHeldBack = false;
  /**
   * Sends all statements of one tick in one packet, and not one each: that halves the system time of a group of
   * appends.
   */
  const holdBack = (): void => {
    if (isHeldBack) return;
    isHeldBack = true;
    const { stream } = client.connection;
    stream.cork();
    process.nextTick(() => {
      isHeldBack = false;
      stream.uncork();
    });
  };
  const send: Pipeline['send'] = (query) => {
    // One of several steps may fail while another still works. The other one must not write after the rollback.
    if (isEnding) throw new Error('The transaction is over.');
    holdBack();
    const answer = client.query(query);
    // Answers come in order, so the first failure causes the ones after it.
    sent.push(answer.catch((error: unknown) => (first ??= { error })));
    return answer;
  };

  let gathered: { readonly statement: Statement; readonly rows: (readonly Param[])[] } | undefined;
  const sendRows = (): void => {
    if (!gathered) return;
    const { statement, rows } = gathered;
    gathered = undefined;
    const [only] = rows;
    if (only && rows.length === 1) void send(query(inPostgres(statement), only));
    else if (only) void send(query(inPostgresForRows(statement, rows), columnsOf(rows)));
  };

  return {
    send,
    execute: (step) => {
      const [row] = step.kind === 'each' ? step.rows : [step.params];
      trace ??= row && traceOf(step.statement, row);
      if (step.kind === 'each') {
        // Rows of one INSERT gather until another statement follows, so that steps side by side share the INSERT.
        if (gathered?.statement !== step.statement) sendRows();
        gathered ??= { statement: step.statement, rows: [] };
        for (const row of step.rows) gathered.rows.push(row);
        return undefined;
      }
      sendRows();
      const prepared = inPostgres(step.statement);
      const answer = send(query(prepared, step.params));
      return prepared.answers ? answer : undefined;
    },
    end: async (command) => {
      sendRows();
      const answer = send(command);
      isEnding = true;
      await Promise.all(sent);
      if (first && isConnectionLost(first.error)) throw outcomeUnknown(first.error);
      if (first) throw first.error;
      const { command: done } = await answer;
      if (done !== command) throw new Error(`PostgreSQL answered ${done} to a ${command}.`);
    },
    trace: () => trace,
    abandon: async (thrown) => {
      if (!isEnding) {
        void send('ROLLBACK');
        isEnding = true;
      }
      await Promise.all(sent);
      return thrown instanceof SealaneError ? thrown : (first?.error ?? thrown);
    },
  };
};

const query = ({ name, text }: Prepared, values: readonly unknown[]) => ({ name, text, values: [...values] });
