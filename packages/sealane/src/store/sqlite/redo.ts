import { closeSync, existsSync, openSync, renameSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';

import { SealaneError } from '#domain';

import type { Param } from '../steps/step.ts';
import { firstNumberOf, isRedoFile, recordsOf, redoFileOf } from './redo-file.ts';
import { sqliteError } from './sqlite-error.ts';

/** What `now_ms()` answers: the time of the batch, also when the batch is executed again. */
export interface Clock {
  now: number;
}

/** Executes the records after `applied` again. Answers the number of the last one. The caller begins and commits. */
export const redoRecords = (
  database: DatabaseSync,
  fd: number,
  clock: Clock,
  { applied, upTo = Infinity }: { readonly applied: number; readonly upTo?: number },
): number => {
  const prepared = new Map<string, StatementSync>();
  const texts: string[] = [];
  let last = applied;
  for (const { number, text } of recordsOf(fd, applied + 1)) {
    if (number > upTo) break;
    const [at, statements] = JSON.parse(text) as [number, [string | number, Param[]][]];
    clock.now = at;
    for (const [spelled, params] of statements) {
      if (typeof spelled === 'string') texts.push(spelled);
      const statement = typeof spelled === 'string' ? spelled : (texts[spelled] ?? '');
      let known = prepared.get(statement);
      if (!known) prepared.set(statement, (known = database.prepare(statement)));
      known.all(...params);
    }
    last = number;
  }
  return last;
};

/** Why the content of a redo log is not in the database. */
export const WHY_LEFT_OUT = {
  missing: 'is missing',
  foreign: 'could not be read, or belongs to another database',
  later: 'goes on from a later state than the database has, as after its -wal file was removed or damaged',
} as const;

/**
 * Executes and commits what the redo log of `file` has and the database has not. For the first program that opens the
 * database after a crash. Answers what became of the log.
 */
export const redoAndCommit = (
  database: DatabaseSync,
  file: string,
  clock: Clock = { now: 0 },
): 'done' | keyof typeof WHY_LEFT_OUT => {
  const path = redoFileOf(file);
  const { file: id, applied } = stateOf(database) ?? { file: '', applied: 0 };
  if (!existsSync(path)) return id === '' ? 'done' : 'missing';
  database.function('now_ms', () => clock.now);
  try {
    const fd = openSync(path, 'r');
    try {
      if (id === '' || !isRedoFile(fd, id)) return 'foreign';
      if ((firstNumberOf(fd) ?? 0) > applied + 1) return 'later';
      database.exec('BEGIN IMMEDIATE');
      const last = redoRecords(database, fd, clock, { applied });
      database.prepare('UPDATE redo SET applied = ?').run(last);
      database.exec('COMMIT');
      return 'done';
    } finally {
      closeSync(fd);
    }
  } catch (cause) {
    if (database.isTransaction) database.exec('ROLLBACK');
    // A full disk or a file without rights is not the fault of the log: the operator should not move the log away for
    // that.
    const known = sqliteError(cause, file);
    if (known instanceof SealaneError && known.code !== 'store-damaged') throw cause;
    throw new SealaneError(
      'store-damaged',
      `The redo log ${path} cannot be applied to ${file} (${cause instanceof Error ? cause.message : String(cause)}). ` +
        'Keep copies of both. Then restore a backup with `sealane restore FILE`, or move the log away to start without ' +
        'what was answered in the last moment, or choose another folder with --data-dir. Nothing was changed.',
      { cause },
    );
  }
};

/** The same for a service, which then begins a log of its own. Answers a notice for the operator, if there is one. */
export const takeUpRedo = (database: DatabaseSync, file: string, clock: Clock): string | undefined => {
  const path = redoFileOf(file);
  const found = redoAndCommit(database, file, clock);
  ownRedo(database, '');
  if (found === 'done') return undefined;
  if (found === 'missing') return `${path} ${WHY_LEFT_OUT.missing}. ${MAY_BE_LOST}`;
  const kept = `${path}.${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
  renameSync(path, kept);
  return `${path} ${WHY_LEFT_OUT[found]}: it is kept as ${kept}. ${MAY_BE_LOST}`;
};

const MAY_BE_LOST = 'What was answered last before the service ended may be lost.';

/** Writes into the database which log is its own; an empty id is none. A copy must not use the log of the original. */
export const ownRedo = (database: DatabaseSync, id: string): void => {
  if (id === '' && !stateOf(database)) return;
  database.exec('CREATE TABLE IF NOT EXISTS redo (file TEXT NOT NULL, applied INTEGER NOT NULL)');
  database.exec('BEGIN IMMEDIATE; DELETE FROM redo');
  database.prepare('INSERT INTO redo (file, applied) VALUES (?, 0)').run(id);
  database.exec('COMMIT');
};

const stateOf = (database: DatabaseSync): { readonly file: string; readonly applied: number } | undefined => {
  const hasTable = database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'redo'").get();
  const row = hasTable && database.prepare('SELECT file, applied FROM redo').get();
  return row && { file: String(row['file']), applied: Number(row['applied']) };
};
