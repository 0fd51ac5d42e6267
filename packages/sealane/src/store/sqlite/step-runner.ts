import type { DatabaseSync, StatementSync } from 'node:sqlite';

import { OWED_WORD, type Param, Refused, type Statement, type Step, type Steps } from '../steps/step.ts';
import type { Redone } from './redo-log.ts';
import { inSqlite } from './sqlite-database.ts';

/** A statement on a connection: takes its parameters, answers its rows. */
type Execute = (...params: readonly Param[]) => readonly object[];

const countsOnly = /\{(new-key|changed)\}/;
const updateByKey = /^\s*(UPDATE (\w+) [^]*?WHERE (task|k) = \?[^]*?)RETURNING ([^]+)$/;

/** Notes every statement that changes something, before it is executed. */
type Record = (text: string, params: readonly Param[]) => void;

const compile = (database: DatabaseSync, { text, locksOnly }: Statement, record: Record): Execute => {
  if (locksOnly) return () => [];
  const byKey = updateByKey.exec(text);
  if (byKey) {
    // RETURNING costs several times as much as reading the row afterwards, which is the same with a single writer.
    const [, update = '', table = '', key = '', columns = ''] = byKey;
    const updated = database.prepare(update);
    const row = database.prepare(`SELECT ${columns} FROM ${table} WHERE ${key} = ?`);
    const keyIndex = update.slice(0, update.search(/WHERE (task|k) = /)).split('?').length - 1;
    return (...params) => {
      record(update, params);
      return updated.run(...params).changes === 0 ? [] : row.all(params[keyIndex] ?? null);
    };
  }
  const own = inSqlite(text);
  const statement = database.prepare(own);
  if (/^\s*SELECT\b/i.test(own)) return (...params) => statement.all(...params);
  if (/\bRETURNING\b/.test(own)) {
    return (...params) => {
      record(own, params);
      return statement.all(...params);
    };
  }
  const isCounted = countsOnly.test(text);
  return (...params) => {
    record(own, params);
    const { changes, lastInsertRowid } = statement.run(...params);
    return isCounted && changes > 0 ? [{ k: Number(lastInsertRowid) }] : NO_ROWS;
  };
};

const NO_ROWS: readonly object[] = [];

/**
 * Executes calls on a connection, one after the other, and keeps every statement prepared. `changed` collects the
 * statements that change something. The statements of a call that refuses are taken out again.
 */
export const createStepRunner = (database: DatabaseSync, changed: Redone[] = []) => {
  const compiled = new Map<Statement, Execute>();
  /** How many statements of the current call have changed something. */
  let changes = 0;
  const record: Record = (text, params) => {
    changes += 1;
    changed.push([text, params]);
  };
  const executeOf = (statement: Statement): Execute => {
    let known = compiled.get(statement);
    if (!known) compiled.set(statement, (known = compile(database, statement, record)));
    return known;
  };
  const execute = (step: Exclude<Step, { kind: 'undo-point' }>, asked: string[]): readonly object[] => {
    if (step.kind === 'query') return executeOf(step.statement)(...step.params);
    if (step.kind === 'wake') {
      // There are no other instances that must hear of a task's events.
      if (step.task === undefined || step.task === OWED_WORD) asked.push(step.task ?? '');
    } else {
      const one = executeOf(step.statement);
      for (const row of step.rows) one(...row);
    }
    return [];
  };
  const savepoint = savepointOn(database);

  return <T>(steps: Steps<T>, wakes: Set<string>): T => {
    const asked: string[] = [];
    let hasUndoPoint = false;
    changes = 0;
    try {
      let next = steps.next([]);
      while (!next.done) {
        const step = next.value;
        if (step.kind === 'undo-point') {
          if (!hasUndoPoint) {
            if (changes > 0) throw new Error('A step asked for its undo point after its first write.');
            savepoint.set();
          }
          hasUndoPoint = true;
          next = steps.next([]);
        } else next = steps.next(execute(step, asked));
      }
      if (hasUndoPoint) savepoint.release();
      for (const word of asked) wakes.add(word);
      return next.value;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (!hasUndoPoint && changes > 0)
        throw new Error('A step refused after a write, and had not asked for an undo point.', { cause: error });
      if (hasUndoPoint) savepoint.undo();
      changed.length -= changes;
      return error.value as T;
    }
  };
};

/** A savepoint inside the transaction. With it, one call of a batch can be undone while the other calls stay. */
const savepointOn = (database: DatabaseSync) => {
  const prepared = new Map<string, StatementSync>();
  const run = (text: string): void => {
    let known = prepared.get(text);
    if (!known) prepared.set(text, (known = database.prepare(text)));
    known.run();
  };
  return {
    set: () => run('SAVEPOINT undo_point'),
    release: () => run('RELEASE undo_point'),
    undo: () => {
      run('ROLLBACK TO undo_point');
      run('RELEASE undo_point');
    },
  };
};
