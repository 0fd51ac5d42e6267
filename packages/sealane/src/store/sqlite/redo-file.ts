import { closeSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { crc32 } from 'node:zlib';

/**
 * The file of the redo log: a header that names it, then records. A record is its length, a checksum, its number and
 * its text. The file has a fixed size, so that a sync writes only the bytes of the records. After each commit, the
 * writer starts again at the first record. The numbers go on, so records that are left from an earlier round do not
 * count.
 */
export const REDO_BYTES = 4 * 1024 * 1024;
export const HEADER_BYTES = 512;
export const HEAD_BYTES = 16;

export const redoFileOf = (database: string): string => `${database}.redo`;

const headerOf = (id: string): Buffer => Buffer.from(`sealane redo log ${id}\n`.padEnd(HEADER_BYTES, '\0'));

/** Fills a new file with zeros, and really writes them: otherwise the first syncs would write more than the records. */
export const formatRedoFile = (fd: number, id: string): void => {
  writeAll(fd, Buffer.concat([headerOf(id), Buffer.alloc(REDO_BYTES - HEADER_BYTES)]), 0);
  fsyncSync(fd);
};

/** The name of a file must be as durable as its content. */
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

/** Writes the head of a record. The text is there already. */
export const sealRecord = (record: Buffer, number: number): void => {
  record.writeUInt32LE(record.length - HEAD_BYTES, 0);
  record.writeUIntLE(number, 8, 6);
  record.writeUInt16LE(0, 14);
  record.writeUInt32LE(crc32(record.subarray(8)), 4);
};

/** The records from number `first` on, in order. Ends at a record that is not whole, or that is of an earlier round. */
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
 * The number of the first record in the file, if it is whole. It is of an earlier round, or it comes next after what
 * the database has. A higher number means that the database has gone back to an earlier state.
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
