import { closeSync, openSync, readdirSync, readSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';

import type { ProcessName, ProcessReader, ProcessRow, ProcessTable } from './process-table.ts';

/** How many `stat` files are read before other work gets its turn: about a millisecond's worth. */
const SLICE = 64;
/** How many links are read at a time; a process may hold a hundred thousand. */
const LINKS_AT_ONCE = 32;
/** The unit of start times. The kernel shows them in hundredths of a second whatever its own tick is. */
const TICKS_PER_SECOND = 100;
/** A kernel thread, in the `flags` field. */
const KERNEL_THREAD = 0x0020_0000;

/**
 * Reads processes from Linux's /proc. `stat` is read synchronously, in slices: it never waits for the process it
 * describes, and the thread pool would make it ten times dearer. Environments and descriptors are read on demand and
 * in the pool, since a process that is stuck in the kernel can hold up whoever reads its memory.
 */
export const createProcReader = (uptimeFile = '/proc/uptime'): ProcessReader => ({
  read: readTable,
  bootId: async () => (await readFile('/proc/sys/kernel/random/boot_id', 'latin1')).trim(),
  now: async () => {
    const uptime = Number.parseFloat(await readFile(uptimeFile, 'latin1')) * TICKS_PER_SECOND;
    // In some containers (LXC) the file counts from the container's start, while start times count from the machine's
    // boot. Ours, and how long we have been here, is never too late, and at most as early as Node took to start.
    const own = (statOf(process.pid)?.startTime ?? 0) + process.uptime() * TICKS_PER_SECOND;
    return Math.floor(Math.max(uptime, own));
  },
  startTimeOf: (pid) => {
    try {
      return statOf(pid)?.startTime;
    } catch {
      return undefined;
    }
  },
});

const readTable = async (): Promise<ProcessTable> => {
  const rows = new Map<number, ProcessRow>();
  const zombies: ProcessName[] = [];
  let isBlurred = false;
  const blur = (): void => {
    isBlurred = true;
  };
  let read = 0;
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    read += 1;
    if (read % SLICE === 0) await setImmediate();
    const stat = statOf(pid);
    if (stat === undefined) blur();
    else if (stat.isAlive) rows.set(pid, rowOf(stat, blur));
    else zombies.push(stat);
  }
  return {
    rows,
    zombies,
    get isBlurred() {
      return isBlurred;
    },
  };
};

interface Stat {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly startTime: number;
  readonly isAlive: boolean;
  readonly isKernel: boolean;
}

const buffer = Buffer.allocUnsafe(1024);

/** `undefined`: no such process, or none that we may look at. */
const statOf = (pid: number): Stat | undefined => {
  let text: string;
  try {
    const file = openSync(`/proc/${pid}/stat`, 'r');
    try {
      text = buffer.toString('latin1', 0, readSync(file, buffer));
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (isForeign(error) || hasCode(error, 'ENOENT', 'ESRCH')) return undefined;
    throw error;
  }
  // The second field is the program's name in parentheses and may itself hold spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const field = (number: number): number => Number(fields[number - 3]);
  const state = fields[0];
  return {
    pid,
    parent: field(4),
    group: field(5),
    session: field(6),
    isKernel: (field(9) & KERNEL_THREAD) !== 0,
    // A zombie with threads is a process whose first thread has ended; the others work on.
    isAlive: (state !== 'Z' && state !== 'X') || field(20) > 1,
    startTime: field(22),
  };
};

const rowOf = (stat: Stat, blur: () => void): ProcessRow => {
  const { pid, parent, group, session, startTime, isKernel } = stat;
  const none: ReadonlySet<string> = new Set();
  /** What cannot be read: of a process that left, of one that is closed to us, or for a reason that proves nothing. */
  const unread =
    <T>(value: T) =>
    (error: unknown): T => {
      // A process that is just ending is closed to everybody but root.
      if (hasCode(error, 'ENOENT', 'ESRCH') || (isForeign(error) && statOf(pid)?.isAlive !== true)) blur();
      else if (!isForeign(error)) throw error;
      return value;
    };
  const readEnviron = async (): Promise<string> => {
    const text = await readFile(`/proc/${pid}/environ`, 'latin1').catch(unread(undefined));
    // In the middle of an exec, and at its end, a process has no environment.
    if (text === '') blur();
    return text ?? '';
  };
  const readSockets = async (): Promise<ReadonlySet<string>> => {
    const names = await readdir(`/proc/${pid}/fd`).catch(unread(undefined));
    if (names === undefined) return none;
    // At its end, it has let go of everything.
    if (names.length === 0) blur();
    const found = new Set<string>();
    for (let at = 0; at < names.length; at += LINKS_AT_ONCE) {
      const some = names.slice(at, at + LINKS_AT_ONCE);
      const links = await Promise.all(some.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(unread(''))));
      for (const link of links) if (link.startsWith('socket:[')) found.add(link.slice('socket:['.length, -1));
    }
    return found;
  };
  let environ: Promise<string> | undefined;
  let sockets: Promise<ReadonlySet<string>> | undefined;
  return {
    pid,
    parent,
    group,
    session,
    startTime,
    environ: () => (environ ??= isKernel ? Promise.resolve('') : readEnviron()),
    sockets: () => (sockets ??= isKernel ? Promise.resolve(none) : readSockets()),
  };
};

const hasCode = (error: unknown, ...codes: readonly string[]): boolean =>
  error instanceof Error && 'code' in error && codes.includes(String(error.code));

/** Another user's process, or one that guards its memory. It can only be found by its parent and its groups. */
const isForeign = (error: unknown): boolean => hasCode(error, 'EACCES', 'EPERM');
