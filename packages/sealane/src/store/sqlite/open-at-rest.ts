import { existsSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';

import { SealaneError } from '#domain';

import { redoFileOf } from './redo-file.ts';

/**
 * Opens a database for reading that no process writes to. Refuses a database that has lost what its logs still have. If
 * SQLite has left no log beside the file, it is opened as one that never changes: so it may lie on a read-only disk,
 * and SQLite leaves no files beside it.
 */
export const openAtRest = (file: string): DatabaseSync => {
  const logs = logsOf(file);
  // Checked before SQLite opens the file: SQLite deletes the log of an empty database, even if it opens it only for
  // reading.
  if (logs.length > 0 && sizeOf(file) === 0) throw lost(file, logs);
  const database = new DatabaseSync(nameOf(file), { readOnly: true });
  try {
    // A redo log is made after the tables are on the disk. So a database without tables has lost them.
    if (sizeOf(redoFileOf(file)) > 0 && isWithoutTables(database)) throw lost(file, logs);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
};

/**
 * Throws if the database is gone, or is only its first page, and its logs are not empty: a service that starts from the
 * beginning would destroy the logs. A first start that was killed early leaves no logs, because SQLite writes the first
 * page before it makes its log.
 */
export const requireWhole = (file: string): void => {
  if (logsOf(file).length > 0) openAtRest(file).close();
};

const nameOf = (file: string): string | URL => {
  if (existsSync(`${file}-wal`)) return file;
  const url = pathToFileURL(file);
  url.searchParams.set('immutable', '1');
  return url;
};

const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;

const logsOf = (file: string): readonly string[] => [`${file}-wal`, redoFileOf(file)].filter((log) => sizeOf(log) > 0);

const isWithoutTables = (database: DatabaseSync): boolean =>
  database.prepare('SELECT 1 FROM sqlite_schema').get() === undefined;

const lost = (file: string, logs: readonly string[]): SealaneError =>
  new SealaneError(
    'store-damaged',
    `The database ${file} is ${existsSync(file) ? 'empty' : 'missing'}, but what was written to it last is in ` +
      `${logs.join(' and ')}. Keep copies of all of them. Then put the database back, or restore a backup with ` +
      '`sealane restore FILE`, or move them away to begin anew. Nothing was changed.',
  );
