import { setTimeout } from 'node:timers/promises';

import { createProcReader } from './proc-reader.ts';
import type { ProcessName, ProcessReader, ProcessRow, ProcessTable } from './process-table.ts';
import { createPsReader } from './ps-reader.ts';
import { shareTables } from './shared-reader.ts';

/** The variable whose value marks every process of a run; nested runs list their tokens, outermost first. */
export const TOKEN_VARIABLE = 'SEALANE_RUN_TOKEN';

/** What tells the processes of one run from all others. It is complete before the first of them exists. */
export interface TreeMark {
  readonly token: string;
  /** Nothing that started earlier belongs to the run, whatever it holds. */
  readonly since: number;
  /** The inode numbers of the program's ends of its standard streams. */
  readonly sockets: readonly string[];
}

/**
 * The processes of one run. A process belongs to it when it
 *
 * - is the program itself,
 * - has a parent that belongs to it,
 * - shares a process group or session with one that does,
 * - has the run's token in its environment, or
 * - holds one of the run's standard streams.
 *
 * A single tie is enough, so a process that left its session, lost its parent and cleared its environment is still
 * found by the stream it writes to. Who once belonged always belongs: `learn` now and then, and a process that cuts
 * its last tie later is known by its pid and start time.
 *
 * A group or session that has a process older than the run is no tie: a server that does a piece of the run's work
 * works for others too. Nor is one that has got the pid of a member that is gone.
 */
export interface ProcessTree {
  /** The program, once it has a pid. It must lead a session of its own. */
  add(pid: number): void;
  /** Notes who belongs, from a table that may be shared between trees. */
  learn(table: ProcessTable): Promise<void>;
  /**
   * Ends every process: SIGTERM, then SIGKILL for those that outlive the grace, again and again until a scan finds
   * none. False when the signal aborted the attempt.
   */
  end(options: { readonly graceMs: number; readonly signal?: AbortSignal }): Promise<boolean>;
}

let system: ProcessReader | undefined;

/** One for all agents of this process: their trees share what they read. */
export const systemReader = (): ProcessReader =>
  (system ??= shareTables(process.platform === 'linux' ? createProcReader() : createPsReader()));

/**
 * A blurred table that shows nobody is read again: a process may have started another and left while we looked. On a
 * machine where processes come and go all the time, this often must do.
 */
const MAX_BLURRED_SCANS = 10;
const ROWS_AT_ONCE = 16;
const FIRST_WAIT_MS = 4;
const MAX_WAIT_MS = 100;

export const createProcessTree = (mark: TreeMark, reader: ProcessReader): ProcessTree => {
  let program: { readonly pid: number; readonly startTime: number | undefined } | undefined;
  /** The members of the last scan; some may be dead by now, but their children are in their groups. */
  let known: readonly ProcessRow[] = [];
  let isEnding = false;
  let scanning: Promise<unknown> = Promise.resolve();

  const scan = async (table: ProcessTable): Promise<readonly ProcessRow[]> => {
    known = await membersOf(table, mark, known, program);
    return known;
  };
  /** Zombies of earlier scans: they cannot have started anything since. */
  const zombies = new Set<string>();
  const look = async (): Promise<{ members: readonly ProcessRow[]; isClear: boolean; hasFailed: boolean }> => {
    await scanning;
    try {
      const table = await reader.read();
      const members = await scan(table);
      const fresh = table.zombies.filter((one) => one.startTime >= mark.since && !zombies.has(nameOf(one)));
      for (const one of fresh) zombies.add(nameOf(one));
      return { members, isClear: !table.isBlurred && fresh.length === 0, hasFailed: false };
    } catch {
      // For want of descriptors, say. It has proved nothing.
      return { members: known, isClear: false, hasFailed: true };
    }
  };
  const send = (row: ProcessRow, ...signals: readonly NodeJS.Signals[]): void => {
    const startTime = reader.startTimeOf(row.pid) ?? row.startTime;
    if (startTime !== row.startTime) return;
    try {
      for (const signal of signals) process.kill(row.pid, signal);
    } catch {
      // Gone already, or not ours to kill: the next scan tells.
    }
  };

  return {
    add: (pid) => {
      program = { pid, startTime: reader.startTimeOf(pid) };
    },

    learn: async (table) => {
      // Whoever ends the tree reads newer tables than this one.
      if (isEnding) return;
      const scanned = scanning.then(() => scan(table));
      scanning = scanned.catch(() => undefined);
      await scanned;
    },

    end: async ({ graceMs, signal }) => {
      isEnding = true;
      const asked = new Set<string>();
      const deadline = performance.now() + graceMs;
      let waitMs = FIRST_WAIT_MS;
      let emptyScans = 0;
      for (;;) {
        if (signal?.aborted === true) return false;
        const { members, isClear, hasFailed } = await look();
        emptyScans = members.length === 0 && !hasFailed ? emptyScans + 1 : 0;
        if (emptyScans > 0 && (isClear || emptyScans === MAX_BLURRED_SCANS)) return true;
        if (emptyScans > 0) continue;
        const isOver = performance.now() >= deadline;
        for (const row of members) {
          const name = nameOf(row);
          if (isOver) send(row, 'SIGKILL');
          // A stopped process has to go on to hear that it should end.
          else if (!asked.has(name)) send(row, 'SIGTERM', 'SIGCONT');
          asked.add(name);
        }
        await setTimeout(isOver ? waitMs : Math.min(waitMs, Math.max(1, deadline - performance.now())));
        waitMs = Math.min(waitMs * 2, MAX_WAIT_MS);
      }
    },
  };
};

const nameOf = ({ pid, startTime }: ProcessName): string => `${pid}/${startTime}`;

const membersOf = async (
  { rows }: ProcessTable,
  mark: TreeMark,
  known: readonly ProcessRow[],
  program: { readonly pid: number; readonly startTime: number | undefined } | undefined,
): Promise<readonly ProcessRow[]> => {
  const self = rows.get(process.pid);
  const members = new Map<number, ProcessRow>();
  const strangers = new Map<number, ProcessRow>();
  for (const row of rows.values()) {
    // Never ourselves, never the system's first process: all orphans are its children.
    if (row.startTime >= mark.since && row.pid !== process.pid && row.pid !== 1) strangers.set(row.pid, row);
  }
  const foreign = new Set(self ? [self.group, self.session] : []);
  for (const row of rows.values()) if (row.startTime < mark.since) foreign.add(row.group).add(row.session);
  const groups = new Set<number>();
  const enter = (...ids: readonly number[]): void => {
    for (const id of ids) if (id > 1 && !foreign.has(id)) groups.add(id);
  };
  const take = (row: ProcessRow): void => {
    members.set(row.pid, row);
    strangers.delete(row.pid);
    enter(row.group, row.session);
  };
  /** Takes in everybody with a tie to a member, until nobody new is found. */
  const spread = (): void => {
    for (let before = -1; before !== members.size;) {
      before = members.size;
      for (const row of strangers.values()) {
        if (members.has(row.parent) || groups.has(row.group) || groups.has(row.session)) take(row);
      }
    }
  };

  for (const row of known) {
    // Nobody was in a group before its leader: a younger one leads another group, of the same name.
    const isReused = (id: number): boolean => (rows.get(id)?.startTime ?? 0) > row.startTime;
    enter(...[row.group, row.session].filter((id) => !isReused(id)));
    const now = strangers.get(row.pid);
    if (now?.startTime === row.startTime) take(now);
  }
  if (program) {
    const { pid, startTime } = program;
    const now = strangers.get(pid);
    if (now && now.startTime === (startTime ?? now.startTime)) take(now);
    // When it is gone its children have its group, until somebody else has its pid.
    else if (!rows.has(pid)) enter(pid);
  }
  spread();
  await forEach(strangers.values(), async (row) => {
    if (carries(await row.environ(), mark.token)) take(row);
  });
  spread();
  await forEach(strangers.values(), async (row) => {
    const sockets = await row.sockets();
    if (mark.sockets.some((socket) => sockets.has(socket))) take(row);
  });
  spread();
  return [...members.values()];
};

/** A few at a time, so that other work gets its turn in between. */
const forEach = async (rows: Iterable<ProcessRow>, look: (row: ProcessRow) => Promise<void>): Promise<void> => {
  const all = [...rows];
  for (let at = 0; at < all.length; at += ROWS_AT_ONCE) await Promise.all(all.slice(at, at + ROWS_AT_ONCE).map(look));
};

/** The token stands in the variable's list of tokens; elsewhere it is only somebody's argument. */
const carries = (environ: string, token: string): boolean => {
  for (let at = environ.indexOf(`${TOKEN_VARIABLE}=`); at >= 0; at = environ.indexOf(`${TOKEN_VARIABLE}=`, at + 1)) {
    const tokens = /^[\w,]*/.exec(environ.slice(at + TOKEN_VARIABLE.length + 1))?.[0] ?? '';
    if (tokens.split(',').includes(token)) return true;
  }
  return false;
};

/** Lets trees learn their members, from one table for all of them, as long as there are any. */
export const keepLearning = (
  trees: () => Iterable<ProcessTree>,
  reader: ProcessReader,
  everyMs: number,
): Disposable => {
  let isReading = false;
  const learn = async (): Promise<void> => {
    const some = [...trees()];
    if (isReading || some.length === 0) return;
    isReading = true;
    try {
      const table = await reader.read();
      for (const tree of some) await tree.learn(table);
    } catch {
      // A scan that failed teaches nothing; the one that ends the tree speaks up.
    } finally {
      isReading = false;
    }
  };
  const timer = setInterval(() => void learn(), everyMs);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
};
