import { closeSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { crc32 } from 'node:zlib';

/**
 * The file of the redo log: a header that names it, then records. A record is its length, a checksum, its number and
 * its text. The file has a fixed size, so that a sync has nothing but the bytes to write, and begins anew after each
 * commit; numbers go on, so what is left of an earlier round does not count.
 */
export const REDO_BYTES = 4 * 1024 * 1024;
export const HEADER_BYTES = 512;
export const HEAD_BYTES = 16;

export const redoFileOf = (database: string): string => `${database}.redo`;

const headerOf = (id: string): Buffer => Buffer.from(`sealane redo log ${id}\n`.padEnd(HEADER_BYTES, '\0'));

/** Fills a new file with zeros, real ones: otherwise the first syncs would have to write more than the records. */
export const formatRedoFile = (fd: number, id: string): void => {
  writeAll(fd, Buffer.concat([headerOf(id), Buffer.alloc(REDO_BYTES - HEADER_BYTES)]), 0);
  fsyncSync(fd);
};

/** The name of a file must be as durable as what is in it. */
export const syncFolder = (folder: string): void => {
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
};

export const isRedoFile = (fd: number, id: string): boolean =>
  readAt(fd, 0, HEADER_BYTES)?.equals(headerOf(id)) === true;

/** Fills in what stands before the text, which is there already. */
export const sealRecord = (record: Buffer, number: number): void => {
  record.writeUInt32LE(record.length - HEAD_BYTES, 0);
  record.writeUIntLE(number, 8, 6);
  record.writeUInt16LE(0, 14);
  record.writeUInt32LE(crc32(record.subarray(8)), 4);
};

/** The texts of the records from number `first` on, in order; ends where none is whole, or of an earlier round. */
export function* recordsOf(fd: number, first: number): Generator<{ readonly number: number; readonly text: string }> {
  let position = HEADER_BYTES;
  for (let number = first; ; number += 1) {
    const length = readAt(fd, position, HEAD_BYTES)?.readUInt32LE(0) ?? 0;
    if (length === 0 || position + HEAD_BYTES + length > REDO_BYTES) return;
    const record = readAt(fd, position, HEAD_BYTES + length);
    if (record?.readUIntLE(8, 6) !== number || record.readUInt32LE(4) !== crc32(record.subarray(8))) return;
    yield { number, text: record.toString('utf8', HEAD_BYTES) };
    position += record.length;
  }
}

/**
 * The number of the record at the head, if that is whole. It belongs to an earlier round, or comes next after what the
 * database has; a higher one says that the database has gone back to an earlier state.
 */
export const firstNumberOf = (fd: number): number | undefined => {
  const number = readAt(fd, HEADER_BYTES, HEAD_BYTES)?.readUIntLE(8, 6) ?? 0;
  for (const record of recordsOf(fd, number)) return record.number;
  return undefined;
};

const readAt = (fd: number, position: number, length: number): Buffer | undefined => {
  const bytes = Buffer.allocUnsafe(length);
  return readSync(fd, bytes, 0, length, position) === length ? bytes : undefined;
};

export const writeAll = (fd: number, bytes: Buffer, position: number): void => {
  for (let done = 0; done < bytes.length;) {
    done += writeSync(fd, bytes, done, bytes.length - done, position + done);
  }
};
