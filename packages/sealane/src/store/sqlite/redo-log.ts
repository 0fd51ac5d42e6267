import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, fdatasyncSync, fsyncSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';

import type { Param } from '../steps/step.ts';

/**
 * What has been answered and is not in the database yet.
 *
 * A commit writes every page that its statements have touched, some two dozen for a handful of calls. The statements
 * themselves are a few kilobytes: written here and synced, they are as durable for a quarter of the time, and the
 * database commits many of them at once, a little later. After a crash they are executed again. Statements, and not the
 * calls that led to them: those are decisions of one version of this program, which another must not take anew.
 *
 * The file has a fixed size, so that a sync has nothing but the bytes to write, and begins anew after each commit. A
 * record is its length, a checksum, its number and its text; numbers never repeat, so what is left of earlier
 * rounds does not count. The database knows the file it belongs to, and the last record that it contains.
 */
export interface RedoLog {
  /** Durable when it answers. False: there is no room, or it cannot be written. */
  write(at: number, statements: readonly Redone[]): boolean;
  /** The last record that was written. */
  readonly last: number;
  /** Everything up to `last` has been committed. */
  restart(): void;
  /** With everything committed the file has done its work. */
  close(isDone: boolean): void;
}

/** A statement that has changed something, with its parameters. */
export type Redone = readonly [text: string, params: readonly Param[]];

/** What `now_ms()` answers: the time of the batch, also when it is done again. */
export interface Clock {
  now: number;
}

export const redoFileOf = (database: string): string => `${database}.redo`;

const SIZE = 4 * 1024 * 1024;
const HEADER = 512;
const HEAD = 16;
const TITLE = 'sealane redo log ';

const headerOf = (id: string): Buffer => Buffer.from(`${TITLE}${id}\n`.padEnd(HEADER, '\0'));

/** Begins a new log for a database that contains everything so far. */
export const createRedoLog = (
  database: DatabaseSync,
  file: string,
  { isSynced }: { readonly isSynced: boolean },
): RedoLog => {
  const path = redoFileOf(file);
  const id = randomUUID();
  const fd = openSync(path, 'w', 0o600);
  // Real zeros, and the name of the file: otherwise the first syncs would have to write more than the records.
  writeAll(fd, Buffer.concat([headerOf(id), Buffer.alloc(SIZE - HEADER)]), 0);
  fsyncSync(fd);
  syncFolder(dirname(path));
  database.exec('CREATE TABLE IF NOT EXISTS redo (file TEXT NOT NULL, applied INTEGER NOT NULL)');
  database.exec('BEGIN IMMEDIATE; DELETE FROM redo');
  database.prepare('INSERT INTO redo (file, applied) VALUES (?, 0)').run(id);
  database.exec('COMMIT');

  let position = HEADER;
  let last = 0;
  let known = new Map<string, number>();
  let scratch = Buffer.allocUnsafe(64 * 1024);

  /** Each text is spelled out once; after that its number is enough. */
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
    get last() {
      return last;
    },
    write: (at, statements) => {
      const news = new Map<string, number>();
      const text = encode(at, statements, news);
      if (position + HEAD + text.length > SIZE) return false;
      const length = Buffer.byteLength(text);
      if (position + HEAD + length > SIZE) return false;
      if (scratch.length < HEAD + length) scratch = Buffer.allocUnsafe(HEAD + length * 2);
      const record = scratch.subarray(0, HEAD + length);
      record.write(text, HEAD);
      record.writeUInt32LE(length, 0);
      record.writeUIntLE(last + 1, 8, 6);
      record.writeUInt16LE(0, 14);
      record.writeUInt32LE(crc32(record.subarray(8)), 4);
      try {
        writeAll(fd, record, position);
        if (isSynced) fdatasyncSync(fd);
      } catch {
        disown(fd, position);
        return false;
      }
      for (const [added, number] of news) known.set(added, number);
      position += record.length;
      last += 1;
      return true;
    },
    restart: () => {
      position = HEADER;
      known = new Map();
    },
    close: (isDone) => {
      closeSync(fd);
      if (isDone) rmSync(path, { force: true });
    },
  };
};

/** What could not be synced has not been answered, and must not come back. */
const disown = (fd: number, position: number): void => {
  try {
    writeAll(fd, Buffer.alloc(HEAD), position);
  } catch {
    // The next record will be written over it, or the commit leaves it behind.
  }
};

const writeAll = (fd: number, bytes: Buffer, position: number): void => {
  for (let done = 0; done < bytes.length;) {
    done += writeSync(fd, bytes, done, bytes.length - done, position + done);
  }
};

const syncFolder = (folder: string): void => {
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
};

/**
 * Executes again what the log of `file` has and the database has not, up to record `upTo`; leaves the transaction open.
 * Answers the number of the last record that the database contains then.
 */
export const redo = (database: DatabaseSync, file: string, clock: Clock, upTo = Infinity): number => {
  const path = redoFileOf(file);
  const state = existsSync(path) ? stateOf(database) : undefined;
  if (!state) return 0;
  const fd = openSync(path, 'r');
  try {
    let { applied } = state;
    if (!readAt(fd, 0, HEADER)?.equals(headerOf(state.file))) return applied;
    const prepared = new Map<string, StatementSync>();
    const texts: string[] = [];
    for (const { number, text } of recordsOf(fd, applied + 1)) {
      if (number > upTo) break;
      const [at, statements] = JSON.parse(text) as [number, [string | number, Param[]][]];
      clock.now = at;
      for (const [spelled, params] of statements) {
        if (typeof spelled === 'string') texts.push(spelled);
        const statement = typeof spelled === 'string' ? spelled : texts[spelled];
        if (statement === undefined)
          throw new Error(`Record ${number} of ${path} names a statement that it never spelled.`);
        let known = prepared.get(statement);
        if (!known) prepared.set(statement, (known = database.prepare(statement)));
        known.all(...params);
      }
      applied = number;
    }
    return applied;
  } finally {
    closeSync(fd);
  }
};

/** The same, and commits it. For whoever opens the database first after a crash. */
export const redoAndCommit = (database: DatabaseSync, file: string, clock: Clock = { now: 0 }): void => {
  if (!existsSync(redoFileOf(file)) || !stateOf(database)) return;
  database.function('now_ms', () => clock.now);
  database.exec('BEGIN IMMEDIATE');
  try {
    const applied = redo(database, file, clock);
    database.prepare('UPDATE redo SET applied = ?').run(applied);
    database.exec('COMMIT');
  } catch (cause) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw cause;
  }
};

/** A copy of the database is one of its own: the log that is beside the original now must never be applied to it. */
export const disownRedo = (database: DatabaseSync): void => {
  if (stateOf(database)) database.exec("UPDATE redo SET file = ''");
};

const stateOf = (database: DatabaseSync): { readonly file: string; readonly applied: number } | undefined => {
  const hasTable = database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'redo'").get();
  if (!hasTable) return undefined;
  const row = database.prepare('SELECT file, applied FROM redo').get();
  return row && { file: String(row['file']), applied: Number(row['applied']) };
};

const readAt = (fd: number, position: number, length: number): Buffer | undefined => {
  const bytes = Buffer.allocUnsafe(length);
  return readSync(fd, bytes, 0, length, position) === length ? bytes : undefined;
};

/** The records from number `first` on, in order; ends at the first that is not whole, or from an earlier round. */
function* recordsOf(fd: number, first: number): Generator<{ readonly number: number; readonly text: string }> {
  let position = HEADER;
  for (let number = first; ; number += 1) {
    const length = readAt(fd, position, HEAD)?.readUInt32LE(0) ?? 0;
    if (length === 0 || position + HEAD + length > SIZE) return;
    const record = readAt(fd, position, HEAD + length);
    if (record?.readUIntLE(8, 6) !== number || record.readUInt32LE(4) !== crc32(record.subarray(8))) return;
    yield { number, text: record.toString('utf8', HEAD) };
    position += record.length;
  }
}
