import { execFileSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  ftruncateSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
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
   * After a kill. `keeps` decides for each write that was not synced whether the disk happened to have it: a disk may
   * have all, none, or any of them. Answers how many writes there were, and how many are lost.
   */
  strike(keeps: () => boolean): { readonly unsynced: number; readonly lost: number };
  /** What was synced so far, in order. */
  syncs(): readonly { readonly file: string; readonly size: number }[];
}

const SOURCE = fileURLToPath(new URL('power-loss.c', import.meta.url));

export const preparePowerLoss = (folder: string, db: string): PowerLoss => {
  const library = join(folder, 'power-loss.so');
  compile(library);
  return {
    env: { LD_PRELOAD: library, POWER_LOSS_DB: db },
    strike: (keeps) => {
      const struck = [undo(db, `${db}.undo-db`, keeps), undo(`${db}-wal`, `${db}.undo-wal`, keeps)];
      return {
        unsynced: struck.reduce((sum, { unsynced }) => sum + unsynced, 0),
        lost: struck.reduce((sum, { lost }) => sum + lost, 0),
      };
    },
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

const undo = (file: string, undoFile: string, keeps: () => boolean): { unsynced: number; lost: number } => {
  if (!existsSync(file) || !existsSync(undoFile)) return { unsynced: 0, lost: 0 };
  const writes = readWrites(undoFile);
  const fd = openSync(file, 'r+');
  try {
    // Backwards, so that each write is seen as it was made before it is taken back.
    const made = writes.toReversed().map((write) => ({ write, data: takeBack(fd, write) }));
    const kept = made.toReversed().filter(keeps);
    for (const { write, data } of kept) {
      if (write.count === undefined) ftruncateSync(fd, write.offset);
      else writeSync(fd, data, 0, data.length, write.offset);
    }
    truncateSync(undoFile);
    return { unsynced: writes.length, lost: writes.length - kept.length };
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
