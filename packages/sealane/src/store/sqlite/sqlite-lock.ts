import { readFileSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

import { SealaneError } from '#domain';

/** Held as long as the process lives; the operating system lets go of it even after kill -9. */
export interface FileLock {
  release(): void;
}

/**
 * One process per database file. The lock is an exclusive transaction on a second, empty SQLite file beside it: no
 * stale lock can be left behind, and it works wherever SQLite does. Who holds it stands in `<file>.pid`, for people.
 */
export const lockFile = (file: string): FileLock => {
  const database = new DatabaseSync(`${file}.lock`, { timeout: 0 });
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE');
    database.exec('BEGIN EXCLUSIVE');
  } catch (cause) {
    database.close();
    if (!String(cause).includes('locked')) throw cause;
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
  writeFileSync(`${file}.pid`, `${process.pid}\n`);
  return { release: () => database.close() };
};

/** The process that took the lock last, if it left its number. */
export const holderOf = (file: string): string | undefined => {
  try {
    return readFileSync(`${file}.pid`, 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
};
