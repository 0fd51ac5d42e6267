import type { DatabaseSync } from 'node:sqlite';

import type { Steps } from '../steps/step.ts';
import { createRedoLog, isFull, type Redone, type RedoLog } from './redo-log.ts';
import type { Clock } from './redo.ts';
import type { SqliteOptions } from './sqlite-database.ts';
import { createStepRunner } from './step-runner.ts';

/**
 * The only writer. A batch of steps is durable when `perform` returns: its statements are in the redo log, or, without
 * room there, in the database. The transaction of the database stays open over many batches, and is committed a moment
 * later. All reads of this thread are inside that transaction.
 */
export interface SqliteWriter {
  /** Executes all of the work durably, or nothing of it. */
  perform<T>(work: (run: <S>(steps: Steps<S>) => S) => T, wakes: Set<string>): T;
  /** Executes several reads on one state of the database. */
  look<T>(work: (run: <S>(steps: Steps<S>) => S) => T): T;
  /** Commits what is only in the redo log so far. */
  flush(): void;
  close(): void;
}

/** How long the database may be behind the redo log: all batches of this time share one commit. */
const BEHIND_MS = 50;
/** The same if the last commit was longer ago than that: a quiet service need not be behind. */
const QUIET_MS = 5;
/** After a commit that failed. */
const RETRY_MS = 1000;
/**
 * How long a batch waits for a lock that another process holds. Everything else waits with it, reads too, so this is
 * short: `lock-patience.ts` repeats the calls.
 */
const LOCK_MS = 250;

/** Undefined if the disk has no room for a log: then each batch is a commit of its own. */
const tryRedoLog = (
  database: DatabaseSync,
  { file, synchronous }: SqliteOptions,
  clock: Clock,
): RedoLog | undefined => {
  if (file === ':memory:') return undefined;
  try {
    return createRedoLog(database, file, clock, { isSynced: synchronous === 'FULL' });
  } catch (error) {
    if (isFull(error)) return undefined;
    throw error;
  }
};

export const createSqliteWriter = (database: DatabaseSync, options: SqliteOptions, clock: Clock): SqliteWriter => {
  const log = tryRedoLog(database, options, clock);
  const setApplied = log && database.prepare('UPDATE redo SET applied = ?');
  /** The statements of the batch in progress. */
  const statements: Redone[] = [];
  const runner = createStepRunner(database, statements);
  let timer: NodeJS.Timeout | undefined;
  let committedAt = -Infinity;
  database.exec(`PRAGMA busy_timeout = ${LOCK_MS}`);

  /** Begins a transaction, unless one is open. If one was lost, repeats what was answered since the last commit. */
  const begin = (): void => {
    if (database.isTransaction) return;
    try {
      database.exec('BEGIN IMMEDIATE; SAVEPOINT beginning');
      if (log?.isAhead) log.redo();
    } catch (error) {
      undo();
      if (log?.isAhead) flushIn(RETRY_MS);
      throw error;
    }
  };

  /**
   * Undoes a batch. That also undoes what was answered since the last commit, so it is executed again. The lock is kept
   * in the meantime: if another process got it, no read would find what was answered.
   */
  const takeBack = (): void => {
    if (!database.isTransaction || !log?.isAhead) return undo();
    try {
      database.exec('ROLLBACK TO beginning');
      log.redo();
    } catch {
      undo();
    }
  };

  const commit = (): void => {
    clearTimeout(timer);
    timer = undefined;
    // A service that only looks for work must not write.
    if (log?.isAhead) setApplied?.run(log.next);
    database.exec('COMMIT');
    log?.restart();
    committedAt = performance.now();
  };

  const undo = (): void => {
    if (database.isTransaction) database.exec('ROLLBACK');
  };

  const flush = (): void => {
    if (!database.isTransaction && !log?.isAhead) return;
    try {
      begin();
      commit();
    } catch (error) {
      undo();
      flushIn(RETRY_MS);
      throw error;
    }
  };

  const tryFlush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    try {
      flush();
    } catch {
      // Nothing is lost: the statements are in the redo log, and the next write gets the error.
    }
  };
  const flushIn = (ms: number): void => {
    timer ??= setTimeout(tryFlush, ms).unref();
  };

  return {
    perform: (work, wakes) => {
      statements.length = 0;
      begin();
      try {
        clock.now = Date.now();
        const done = work((steps) => runner(steps, wakes));
        if (log && (statements.length === 0 || log.write(clock.now, statements))) {
          flushIn(performance.now() - committedAt > BEHIND_MS ? QUIET_MS : BEHIND_MS);
        } else commit();
        return done;
      } catch (error) {
        takeBack();
        // Commits at once what was executed again, so that the next failure has nothing to execute again.
        tryFlush();
        throw error;
      }
    },
    look: (work) => {
      if (log?.isAhead) begin();
      clock.now = Date.now();
      const isOwn = !database.isTransaction;
      if (isOwn) database.exec('BEGIN');
      try {
        return work((steps) => runner(steps, new Set()));
      } finally {
        if (isOwn) undo();
        // A read that fails may end the transaction, for example on a full disk or with a read error.
        else if (!database.isTransaction) tryFlush();
      }
    },
    flush,
    close: () => {
      let isDone = false;
      try {
        flush();
        isDone = true;
      } finally {
        clearTimeout(timer);
        log?.close(isDone);
      }
    },
  };
};
