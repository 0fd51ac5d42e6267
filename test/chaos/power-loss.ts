import { execFileSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  ftruncateSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Takes the power away from an SQLite file: what its killed process had written and never synced is gone. */
export interface PowerLoss {
  /** For the process that is going to lose it. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * After a kill. `keeps` decides for each piece of a write that was not synced whether the disk happened to have it: a
   * disk may have all, none, or any of them. Answers how many writes there were, and how many are lost in whole or in
   * part: of the database with its WAL, and of the redo log.
   */
  strike(keeps: () => boolean): { readonly database: Struck; readonly redo: Struck };
  /** True while something was written to the redo log that is not synced. */
  isRedoUnsynced(): boolean;
  /** What was synced so far, in order. */
  syncs(): readonly { readonly file: string; readonly size: number }[];
}

export interface Struck {
  readonly unsynced: number;
  readonly lost: number;
}

const SOURCE = fileURLToPath(new URL('power-loss.c', import.meta.url));

export const preparePowerLoss = (folder: string, db: string): PowerLoss => {
  const library = join(folder, 'power-loss.so');
  compile(library);
  return {
    env: { LD_PRELOAD: library, POWER_LOSS_DB: db },
    strike: (keeps) => {
      const pages = undo(db, `${db}.undo-db`, keeps);
      const wal = undo(`${db}-wal`, `${db}.undo-wal`, keeps);
      const redo = undo(`${db}.redo`, `${db}.undo-redo`, keeps);
      // The bytes of a file whose name was never synced are of no use.
      if (existsSync(`${db}.made-redo`)) {
        if (!keeps()) rmSync(`${db}.redo`, { force: true });
        rmSync(`${db}.made-redo`);
      }
      return { database: { unsynced: pages.unsynced + wal.unsynced, lost: pages.lost + wal.lost }, redo };
    },
    isRedoUnsynced: () => (statSync(`${db}.undo-redo`, { throwIfNoEntry: false })?.size ?? 0) > 0,
    syncs: () =>
      readFileSync(`${db}.syncs`, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => line.split(' '))
        .map(([file = '', size]) => ({ file, size: Number(size) })),
  };
};

const compile = (library: string): void => {
  try {
    execFileSync('cc', ['-shared', '-fPIC', '-O2', '-o', library, SOURCE, '-ldl', '-lpthread'], { stdio: 'pipe' });
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === 'ENOENT';
    const what = isMissing ? 'there is none here' : 'the one here cannot build power-loss.c';
    throw new Error(
      `To take the power away from SQLite this test needs a C compiler, and ${what}. Install one so that \`cc\` works, for example with \`apt install gcc libc6-dev\`.`,
      { cause },
    );
  }
};

interface Write {
  readonly offset: number;
  readonly old: Buffer;
  readonly sizeBefore: number;
  /** How many bytes it wrote; undefined: it cut the file at `offset`. */
  readonly count: number | undefined;
}

const HEAD_BYTES = 32;

/** The records of power-loss.c. The last may be incomplete: its process was killed, and its write never happened. */
const readWrites = (file: string): readonly Write[] => {
  const bytes = readFileSync(file);
  const writes: Write[] = [];
  for (let at = 0; at + HEAD_BYTES <= bytes.length;) {
    const [offset, there, sizeBefore] = [0, 8, 16].map((field) => Number(bytes.readBigUInt64LE(at + field))) as [
      number,
      number,
      number,
    ];
    const count = bytes.readBigUInt64LE(at + 24);
    at += HEAD_BYTES;
    if (at + there > bytes.length) break;
    const isCut = count === 0xffff_ffff_ffff_ffffn;
    writes.push({ offset, old: bytes.subarray(at, at + there), sizeBefore, count: isCut ? undefined : Number(count) });
    at += there;
  }
  return writes;
};

/** What a disk writes at once; of a longer write any part may be there. */
const PIECE_BYTES = 4096;

const undo = (file: string, undoFile: string, keeps: () => boolean): Struck => {
  if (!existsSync(file) || !existsSync(undoFile)) return { unsynced: 0, lost: 0 };
  const writes = readWrites(undoFile);
  const fd = openSync(file, 'r+');
  try {
    // Backwards, so that each write is seen as it was made before it is taken back.
    const made = writes.toReversed().map((write) => ({ write, data: takeBack(fd, write) }));
    const lost = made.toReversed().filter(({ write, data }) => !makeAgain(fd, write, data, keeps));
    truncateSync(undoFile);
    return { unsynced: writes.length, lost: lost.length };
  } finally {
    closeSync(fd);
  }
};

/** Puts the old bytes back; answers those that were written. A killed process may have written fewer than it meant to. */
const takeBack = (fd: number, { offset, old, sizeBefore, count = 0 }: Write): Buffer => {
  const data = Buffer.alloc(Math.max(0, Math.min(count, fstatSync(fd).size - offset)));
  readSync(fd, data, 0, data.length, offset);
  writeSync(fd, old, 0, old.length, offset);
  ftruncateSync(fd, sizeBefore);
  return data;
};

/** Makes the parts of a write that `keeps` wants; true: all of it. */
const makeAgain = (fd: number, { offset, count }: Write, data: Buffer, keeps: () => boolean): boolean => {
  if (count === undefined) {
    const isKept = keeps();
    if (isKept) ftruncateSync(fd, offset);
    return isKept;
  }
  let isWhole = true;
  for (let at = 0; at < data.length; at += PIECE_BYTES) {
    if (keeps()) writeSync(fd, data, at, Math.min(PIECE_BYTES, data.length - at), offset + at);
    else isWhole = false;
  }
  return isWhole;
};
