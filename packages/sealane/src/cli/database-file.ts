import { existsSync, rmSync } from 'node:fs';
import { backup, DatabaseSync } from 'node:sqlite';

import { SealaneError } from '#domain';
import { MIGRATIONS } from '#store/schema.sql';
import { openAtRest, requireWhole } from '#store/sqlite/open-at-rest';
import { ownRedo, redoAndCommit, WHY_LEFT_OUT } from '#store/sqlite/redo';
import { redoFileOf } from '#store/sqlite/redo-file';
import { createDiskReserve } from '#store/sqlite/disk-reserve';
import { APPLICATION_ID, examineDatabase } from '#store/sqlite/sqlite-database';
import { holderOf, lockFile, type FileLock } from '#store/sqlite/sqlite-lock';

import { CliError } from './cli-error.ts';
import { typed } from './command-name.ts';

/** Copies a database that nobody writes to, its logs included, into a new file. Answers what people should know. */
export const backupFile = async (
  database: string,
  target: string,
  onProgress: (share: number) => void,
): Promise<string | undefined> => {
  const source = openAtRest(database);
  try {
    await backup(source, target, {
      rate: 2000,
      progress: ({ totalPages, remainingPages }) => onProgress(totalPages === 0 ? 1 : 1 - remainingPages / totalPages),
    });
  } finally {
    source.close();
  }
  const copy = new DatabaseSync(target);
  try {
    const found = redoAndCommit(copy, database);
    ownRedo(copy, '');
    if (found === 'done') return undefined;
    return `${redoFileOf(database)} ${WHY_LEFT_OUT[found]}: what was answered last may not be in the copy.`;
  } finally {
    copy.close();
  }
};

export interface DatabaseFacts {
  readonly tasks: number;
}

const pragma = (database: DatabaseSync, name: string): unknown =>
  Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];

/** Reads a copy from end to end; throws when it is damaged, or no database of ours. */
export const verifyDatabase = (file: string): DatabaseFacts => {
  let database: DatabaseSync | undefined;
  try {
    database = openAtRest(file);
    const result = pragma(database, 'integrity_check(1)');
    if (result !== 'ok') throw new Error(String(result));
    if (pragma(database, 'application_id') !== APPLICATION_ID)
      throw new CliError('store-damaged', `${file} is a database, but not one of Sealane.`, {
        next: 'check the name of the file',
      });
    return { tasks: Number(database.prepare('SELECT count(*) AS n FROM tasks').get()?.n ?? 0) };
  } catch (error) {
    if (error instanceof CliError || error instanceof SealaneError) throw error;
    throw new CliError(
      'store-damaged',
      `${file} is damaged or no database: ${error instanceof Error ? error.message : String(error)}.`,
      {
        cause: error,
        next: 'use another backup',
      },
    );
  } finally {
    database?.close();
  }
};

/** A copy that this version cannot read is not put in the place of a database that it can. */
export const requireKnownSchema = (file: string): void => {
  const database = openAtRest(file);
  try {
    const schema = Number(pragma(database, 'user_version'));
    if (schema <= MIGRATIONS.length) return;
    throw new CliError(
      'store-newer',
      `${file} was written by a newer Sealane (schema ${schema}, this version knows ${MIGRATIONS.length}). Nothing was changed.`,
      { next: 'restore it with that version' },
    );
  } finally {
    database.close();
  }
};

/** Moves what is only in the logs into the database, so that the file alone is complete. */
export const emptyLogs = (file: string): void => {
  if (!existsSync(file) || !(existsSync(`${file}-wal`) || existsSync(redoFileOf(file)))) return;
  try {
    requireWhole(file);
    const database = new DatabaseSync(file);
    const found = redoAndCommit(database, file);
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    database.close();
    if (found === 'done') rmSync(redoFileOf(file), { force: true });
  } catch {
    // A damaged database is one reason to restore; its logs are then kept beside it.
  }
};

/** The process that has the database open, if one has. Throws when that cannot be told. */
const findHolder = (database: string): string | undefined => {
  if (!existsSync(`${database}.lock`)) return undefined;
  const holder = holderOf(database);
  try {
    lockFile(database).release();
    return undefined;
  } catch (error) {
    if (error instanceof SealaneError && error.code === 'store-locked') return holder ?? 'unknown';
    throw error;
  }
};

/** Who has the database, or whether a service could take it; throws what would keep it from that. */
export const describeDatabase = (database: string): string => {
  const holder = findHolder(database);
  const exists = existsSync(database);
  if (holder === undefined) examineDatabase(database);
  const refusal = exists ? createDiskReserve(database).refusalOf('admit') : undefined;
  if (refusal) throw refusal;
  if (holder !== undefined) return `${database}, in use by process ${holder}`;
  return `${database}, ${exists ? 'not in use' : 'not made yet'}`;
};

/** Keeps the service from starting while the file is exchanged; refuses when it runs. */
export const requireUnused = (
  database: string,
  refusal: (pid: string | undefined) => CliError = isInUse(database),
): FileLock => {
  try {
    return lockFile(database);
  } catch (error) {
    if (error instanceof SealaneError) throw error.code === 'store-locked' ? refusal(error.facts.pid) : error;
    throw new CliError(
      'store-unwritable',
      `${database}.lock cannot be written: ${error instanceof Error ? error.message : String(error)}.`,
      {
        cause: error,
        next: typed('doctor'),
      },
    );
  }
};

const isInUse =
  (database: string) =>
  (pid: string | undefined): CliError =>
    new CliError(
      'store-locked',
      `${database} is in use${pid === undefined ? '' : ` by process ${pid}`}: stop the service first.`,
      {
        next: pid === undefined ? typed('doctor') : `kill ${pid}`,
      },
    );
