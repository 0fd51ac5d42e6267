import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

import { SealaneError } from '#domain';

import { makePrivateFile } from '../private-file.ts';
import { MIGRATIONS } from '../schema.sql.ts';
import { openAtRest, requireWhole } from './open-at-rest.ts';
import { type Clock, takeUpRedo } from './redo.ts';
import { damaged, sqliteError } from './sqlite-error.ts';

export interface SqliteOptions {
  /** A path, or `:memory:`. */
  readonly file: string;
  /** Only the durability tests choose anything but FULL. */
  readonly synchronous: 'FULL' | 'NORMAL' | 'OFF';
}

/** Marks a file as ours ("SEAL"), so that the database of another program is not migrated by mistake. */
export const APPLICATION_ID = 0x5345_414c;

/** Up to this size a full check is quick, so each start does one, and finds a damaged file. */
const QUICK_CHECK_BYTES = 64 * 1024 * 1024;

/** Opens the database for writing, migrates it, and refuses a file that it must not touch. */
export const openForWriting = (
  { file, synchronous }: SqliteOptions,
  clock: Clock,
  onNotice: (text: string) => void = () => undefined,
): DatabaseSync => {
  try {
    requireWhole(file);
    // SQLite gives its logs the file mode of the database.
    if (file !== ':memory:') makePrivateFile(file);
    const database = new DatabaseSync(file, { timeout: 5000 });
    database.function('now_ms', () => clock.now);
    const version = versionOf(database, file);
    // A task's row fills half of a page of the usual 4 KiB; larger pages are fewer to write and waste less.
    database.exec('PRAGMA page_size = 8192');
    database.exec('PRAGMA auto_vacuum = INCREMENTAL');
    database.exec('PRAGMA journal_mode = WAL');
    database.exec(`PRAGMA synchronous = ${synchronous}`);
    // On macOS a sync only reaches the disk's own memory: go further, as the redo log does.
    database.exec('PRAGMA fullfsync = ON');
    database.exec('PRAGMA checkpoint_fullfsync = ON');
    database.exec('PRAGMA foreign_keys = ON');
    database.exec('PRAGMA temp_store = MEMORY');
    database.exec('PRAGMA cache_size = -8000');
    // A checkpoint copies pages back while all calls wait: 13 ms for this many, 30 ms for four times as many.
    database.exec('PRAGMA wal_autocheckpoint = 500');
    database.exec('PRAGMA journal_size_limit = 67108864');
    if (version > 0) {
      quickCheck(database, file);
      // Before the migration: the statements of the log are for the old tables.
      const notice = takeUpRedo(database, file, clock);
      if (notice !== undefined) onNotice(notice);
    }
    migrate(database, version);
    forgetStatistics(database);
    // One process owns the file, so every run that an earlier process held is an orphan now.
    database.exec('DELETE FROM instances');
    return database;
  } catch (error) {
    throw sqliteError(error, file);
  }
};

export const openForReading = (file: string): DatabaseSync => {
  requireWhole(file);
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5000 });
  database.function('now_ms', () => Date.now());
  database.exec('PRAGMA cache_size = -8000');
  return database;
};

/** Throws the reason why a service could not open this database. No process may have it open. Changes nothing. */
export const examineDatabase = (file: string): void => {
  try {
    requireWhole(file);
    if (!existsSync(file)) return;
    accessSync(file, constants.R_OK | constants.W_OK);
    if (statSync(file).isDirectory()) throw new SealaneError('store-unwritable', `${file} is a folder. Move it away.`);
    using database = openAtRest(file);
    if (versionOf(database, file) > 0) quickCheck(database, file);
  } catch (error) {
    throw sqliteError(error, file);
  }
};

/**
 * Without statistics, SQLite makes the same plans for a hundred tasks and for a million. With the numbers from a time
 * of few tasks, it would read whole tables that are large by now.
 */
const forgetStatistics = (database: DatabaseSync): void => {
  const hasAny = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_stat1'").get();
  if (hasAny) database.exec('DELETE FROM sqlite_stat1; ANALYZE sqlite_schema');
};

const pragma = (database: DatabaseSync, name: string): number =>
  Number(Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0]);

const versionOf = (database: DatabaseSync, file: string): number => {
  const application = pragma(database, 'application_id');
  const version = pragma(database, 'user_version');
  const isEmpty = database.prepare('SELECT count(*) AS n FROM sqlite_master').get()?.['n'] === 0;
  if (!isEmpty && application !== APPLICATION_ID) {
    throw new SealaneError(
      'store-damaged',
      `${file} is an SQLite file of another program. Choose another data folder with --data-dir.`,
    );
  }
  if (version > MIGRATIONS.length) {
    throw new SealaneError(
      'store-newer',
      `${file} was written by a newer Sealane (schema ${version}, this version knows ${MIGRATIONS.length}). ` +
        'Start the newer version, or choose another folder with --data-dir. Nothing was changed.',
    );
  }
  return version;
};

const quickCheck = (database: DatabaseSync, file: string): void => {
  if (file === ':memory:' || !existsSync(file) || statSync(file).size > QUICK_CHECK_BYTES) return;
  const found = Object.values(database.prepare('PRAGMA quick_check(1)').get() ?? {})[0];
  if (found !== 'ok') throw damaged(file, String(found));
};

const migrate = (database: DatabaseSync, version: number): void => {
  for (const [index, statements] of MIGRATIONS.entries()) {
    if (index < version) continue;
    database.exec('BEGIN IMMEDIATE');
    for (const statement of statements) database.exec(inSqlite(statement));
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
    database.exec(`PRAGMA user_version = ${index + 1}`);
    database.exec('COMMIT');
  }
};

/** A statement in the dialect of SQLite. */
export const inSqlite = (text: string): string =>
  text
    .replaceAll('{lasting-key}', 'INTEGER PRIMARY KEY AUTOINCREMENT')
    .replaceAll('{key}', 'INTEGER PRIMARY KEY')
    .replaceAll('{given-key}', 'INTEGER PRIMARY KEY')
    .replaceAll('{rowless}', 'WITHOUT ROWID')
    .replaceAll('{position}', 'instr')
    .replaceAll('{lock-free}', '')
    .replaceAll('{lock}', '')
    .replaceAll('{share-lock}', '')
    .replaceAll('{new-key}', '')
    .replaceAll('{changed}', '')
    // SQLite looks at the value of a plain parameter when it plans, so it would plan again at every execution.
    .replaceAll('LIMIT ?', 'LIMIT CAST(? AS INTEGER)');
