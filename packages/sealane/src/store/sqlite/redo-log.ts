import { randomUUID } from 'node:crypto';
import { closeSync, fdatasyncSync, openSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';

import { SealaneError } from '#domain';

import type { Param } from '../steps/step.ts';
import {
  formatRedoFile,
  HEAD_BYTES,
  HEADER_BYTES,
  REDO_BYTES,
  redoFileOf,
  sealRecord,
  syncFolder,
  writeAll,
} from './redo-file.ts';
import { type Clock, ownRedo, redoRecords } from './redo.ts';

/**
 * The changes that were answered and are not in the database yet.
 *
 * A commit writes every page that its statements have touched, some two dozen for a handful of calls. The statements
 * themselves are a few kilobytes. Writing and syncing them here makes them durable in a quarter of the time, and the
 * database commits many of them at once, a little later. After a crash the statements are executed again.
 *
 * The log has statements, and not the calls that led to them. A call's statements are decisions of one version of this
 * program, and another version must not decide again.
 */
export interface RedoLog {
  /** Writes a batch, which is durable when the call answers. False: there is no room, or the file cannot be written. */
  write(at: number, statements: readonly Redone[]): boolean;
  /** True: there are records that are not in the database. */
  readonly isAhead: boolean;
  /** Executes these records again, because their transaction was lost. */
  redo(): void;
  /** The number that the database stores in the commit that contains everything. */
  readonly next: number;
  /** That commit is made: writes from the first record on again. */
  restart(): void;
  /** `isDone`: everything is committed, so the file is deleted. */
  close(isDone: boolean): void;
}

/** A statement that has changed something, with its parameters. */
export type Redone = readonly [text: string, params: readonly Param[]];

/** Begins a new log for a database that contains everything so far. */
export const createRedoLog = (
  database: DatabaseSync,
  file: string,
  clock: Clock,
  { isSynced }: { readonly isSynced: boolean },
): RedoLog => {
  const path = redoFileOf(file);
  const fd = makeFile(database, path);
  let position = HEADER_BYTES;
  let last = 0;
  let applied = 0;
  /** The record after the last one may be whole in the file, although its write has failed. */
  let isDoubtful = false;
  let known = new Map<string, number>();
  let scratch = Buffer.allocUnsafe(64 * 1024);

  /** The log has each text of a statement once. After that, a number stands for the text. */
  const encode = (at: number, statements: readonly Redone[], news: Map<string, number>): string =>
    JSON.stringify([
      at,
      statements.map(([text, params]) => {
        const number = known.get(text) ?? news.get(text);
        if (number !== undefined) return [number, params];
        news.set(text, known.size + news.size);
        return [text, params];
      }),
    ]);

  return {
    write: (at, statements) => {
      const room = REDO_BYTES - position - HEAD_BYTES;
      if (lengthOf(statements) > room) return false;
      const news = new Map<string, number>();
      const text = encode(at, statements, news);
      const length = text.length > room ? text.length : Buffer.byteLength(text);
      if (length > room) return false;
      if (scratch.length < HEAD_BYTES + length) scratch = Buffer.allocUnsafe(HEAD_BYTES + length * 2);
      const record = scratch.subarray(0, HEAD_BYTES + length);
      record.write(text, HEAD_BYTES);
      sealRecord(record, last + 1);
      try {
        writeAll(fd, record, position);
        if (isSynced) fdatasyncSync(fd);
      } catch {
        isDoubtful = true;
        wipe(fd, position);
        return false;
      }
      isDoubtful = false;
      for (const [added, number] of news) known.set(added, number);
      position += record.length;
      last += 1;
      return true;
    },
    get isAhead() {
      return isDoubtful || last !== applied;
    },
    redo: () => {
      const reached = redoRecords(database, fd, clock, { applied, upTo: last });
      if (reached !== last) throw new Error(`The redo log ${path} ends at ${reached} and not at ${last}.`);
    },
    get next() {
      return isDoubtful ? last + 1 : last;
    },
    restart: () => {
      if (isDoubtful) last += 1;
      isDoubtful = false;
      applied = last;
      position = HEADER_BYTES;
      known = new Map();
    },
    close: (isDone) => {
      closeSync(fd);
      if (!isDone) return;
      ownRedo(database, '');
      rmSync(path, { force: true });
    },
  };
};

const makeFile = (database: DatabaseSync, path: string): number => {
  let fd: number | undefined;
  try {
    fd = openSync(path, 'w+', 0o600);
    const id = randomUUID();
    formatRedoFile(fd, id);
    syncFolder(dirname(path));
    ownRedo(database, id);
    return fd;
  } catch (cause) {
    if (fd !== undefined) {
      closeSync(fd);
      rmSync(path, { force: true });
    }
    if (isFull(cause)) throw cause;
    throw new SealaneError(
      'store-unwritable',
      `Sealane cannot make its redo log ${path} (${cause instanceof Error ? cause.message : String(cause)}). Move away ` +
        'what is there, make the folder writable for this user, or choose another with --data-dir.',
      { cause },
    );
  }
};

/** A lower bound of the length of their record: a batch that is far too large need not be encoded to know that. */
const lengthOf = (statements: readonly Redone[]): number => {
  let length = 0;
  for (const [, params] of statements) {
    for (const param of params) if (typeof param === 'string') length += param.length;
  }
  return length;
};

/** True: the disk has no room for the file. */
export const isFull = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT', 'EFBIG'].includes((error as NodeJS.ErrnoException | undefined)?.code ?? '');

/**
 * A record that could not be synced was not answered, and should not come back. If the wipe fails, its number is
 * skipped.
 */
const wipe = (fd: number, position: number): void => {
  try {
    writeAll(fd, Buffer.alloc(HEAD_BYTES), position);
  } catch {
    // The next record overwrites it, or the next commit counts it as contained.
  }
};
