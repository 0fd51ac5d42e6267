import { accessSync, constants, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

import { SealaneError } from '#domain';

import { sqliteError } from './sqlite-error.ts';

/** A lock that holds as long as the process lives. The operating system releases it even after kill -9. */
export interface FileLock {
  release(): void;
}

/**
 * One process per database file. The lock is an exclusive transaction on a second, empty SQLite file beside it. So no
 * stale lock can be left behind, and the lock works wherever SQLite does. `<file>.pid` names the holder, for people.
 */
export const lockFile = (file: string): FileLock => {
  requireWritable(`${file}.lock`);
  const database = new DatabaseSync(`${file}.lock`, { timeout: 0 });
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE');
    database.exec('BEGIN EXCLUSIVE');
  } catch (cause) {
    database.close();
    if (!String(cause).includes('locked')) throw sqliteError(cause, `${file}.lock`);
    const pid = holderOf(file);
    if (pid === String(process.pid)) {
      throw new SealaneError(
        'store-locked',
        `${file} is in use by process ${pid}, which is this one, or has its number in another container. ` +
          'Close the service that has it open, or choose another folder with --data-dir.',
        { cause, facts: { file, pid } },
      );
    }
    throw new SealaneError(
      'store-locked',
      `${file} is in use by another Sealane${pid ? ` (process ${pid})` : ''}. ` +
        `Stop that one first${pid ? ` (kill ${pid})` : ''}, or choose another folder with --data-dir.`,
      { cause, facts: { file, ...(pid && { pid }) } },
    );
  }
  try {
    writeFileSync(`${file}.pid`, `${process.pid}\n`);
  } catch (error) {
    database.close();
    throw sqliteError(error, `${file}.pid`);
  }
  return { release: () => database.close() };
};

/** SQLite also opens a read-only file, but then its lock keeps no process out. */
const requireWritable = (path: string): void => {
  if (!existsSync(path)) return;
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (error) {
    throw sqliteError(error, path);
  }
};

/** The number of the process that took the lock last, if it is known. */
export const holderOf = (file: string): string | undefined => {
  try {
    return readFileSync(`${file}.pid`, 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
};
