import { existsSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';

import { SealaneError } from '#domain';

import { redoFileOf } from './redo-file.ts';

/**
 * Opens a file that nobody writes to, to read it, and refuses one whose logs have what it lost. Without a log of SQLite
 * beside it, it is opened as one that never changes: then it may lie on a disk that cannot be written, and no files are
 * left beside it.
 */
export const openAtRest = (file: string): DatabaseSync => {
  const logs = logsOf(file);
  // Looked at before SQLite does: it deletes the log of a database without a byte, also when it is only to read it.
  if (logs.length > 0 && sizeOf(file) === 0) throw lost(file, logs);
  const database = new DatabaseSync(nameOf(file), { readOnly: true });
  try {
    // A redo log is made when the tables are on the disk, so without them this is not what it was.
    if (sizeOf(redoFileOf(file)) > 0 && isWithoutTables(database)) throw lost(file, logs);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
};

/**
 * Throws when the database is gone, or is nothing but its first page, and its logs are not: a service that began anew
 * would destroy them. A first start that was killed early has left none: SQLite writes the first page before it makes
 * its log.
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
