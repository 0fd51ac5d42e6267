import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { SealaneError } from '#domain';

import { TOKEN_VARIABLE } from './process-tree.ts';
import type { TreeMark } from './process-tree.ts';

/** The process that ends our runs when we cannot: see `supervisor-main.ts`. */
export interface Supervisor {
  /** Resolves when the supervisor knows the mark. Nothing may be started before. */
  watch(mark: TreeMark): Promise<void>;
  /** The program of a watched run has this pid. */
  started(token: string, pid: number): void;
  /** True: the supervisor has ended this run, because nothing was heard of us for longer than the beat limit. */
  hasEnded(token: string): boolean;
  /** The run is over and its tree is dead. */
  unwatch(token: string): void;
}

type Process = ChildProcessByStdio<Socket, Socket, null>;

interface Watched {
  readonly mark: TreeMark;
  pid: number | undefined;
  readonly known: PromiseWithResolvers<void>;
  isKnown: boolean;
  hasEnded: boolean;
}

/** How many starts may fail in a row before runs that wait for one are refused. */
const MAX_FAILED_STARTS = 5;
const FIRST_RESTART_MS = 50;
const MAX_RESTART_MS = 5000;
const BEATS_PER_LIMIT = 5;

/**
 * Otherwise its environment is empty: no NODE_OPTIONS that would open a second debugger, no secrets. With the token of
 * an outer run it ends with that run.
 */
const KEPT_VARIABLES = [TOKEN_VARIABLE, 'LD_LIBRARY_PATH'];
/** What an idle supervisor may take to leave before it is killed. */
const CLOSE_MS = 5000;
const CLOSED = 'The agent is closed. Start Sealane again to run programs.';

const script = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? 'supervisor-main.ts' : 'supervisor-main.js', import.meta.url),
);

/** Starts with the first run, starts again when it dies, and never keeps this process alive by itself. */
export const openSupervisor = (beatLimitMs: number): Supervisor & { close(): Promise<void> } => {
  const watched = new Map<string, Watched>();
  let current: Process | undefined;
  let failedStarts = 0;
  let restart: NodeJS.Timeout | undefined;
  let beat: NodeJS.Timeout | undefined;
  let isClosed = false;

  const tell = (line: string): void => {
    current?.stdin.write(`${line}\n`);
  };
  /** Only a run that waits for its answer keeps us alive. */
  const holdOrLetGo = (): void => {
    const isAwaited = watched.values().some((one) => !one.isKnown);
    if (isAwaited) current?.stdout.ref();
    else current?.stdout.unref();
  };
  const hear = (line: string): void => {
    const [word, token = ''] = line.split(' ');
    const one = watched.get(token);
    if (!one) return;
    if (word === 'ending') {
      one.hasEnded = true;
      return;
    }
    failedStarts = 0;
    one.isKnown = true;
    one.known.resolve();
    holdOrLetGo();
  };

  const start = (): void => {
    clearTimeout(restart);
    restart = undefined;
    const child = startProcess(beatLimitMs, watched.values().map(watchLine));
    current = child;
    child.once('error', () => lose(child)).once('exit', () => lose(child));
    if (child.pid === undefined) return;
    createInterface({ input: child.stdout }).on('line', hear);
    holdOrLetGo();
  };
  const lose = (child: Process): void => {
    child.stdin?.destroy();
    child.stdout?.destroy();
    if (child !== current) return;
    current = undefined;
    if (isClosed || watched.size === 0) return;
    failedStarts += 1;
    if (failedStarts >= MAX_FAILED_STARTS) {
      refuseWaiting(
        `The supervisor of programs does not start. See what \`${process.execPath} ${script} ${beatLimitMs}\` says.`,
      );
    }
    const delayMs = Math.min(FIRST_RESTART_MS * 2 ** (failedStarts - 1), MAX_RESTART_MS);
    restart = setTimeout(start, delayMs);
    if (watched.values().every((one) => one.isKnown)) restart.unref();
  };
  const refuseWaiting = (why: string): void => {
    for (const [token, one] of watched) {
      if (one.isKnown) continue;
      watched.delete(token);
      one.known.reject(new SealaneError('unavailable', why));
    }
  };

  return {
    watch: async (mark) => {
      if (isClosed) throw new SealaneError('unavailable', CLOSED);
      const one: Watched = { mark, pid: undefined, known: Promise.withResolvers(), isKnown: false, hasEnded: false };
      watched.set(mark.token, one);
      if (current) {
        tell(watchLine(one));
        holdOrLetGo();
      } else if (restart) restart.ref();
      else start();
      if (!beat) {
        beat = setInterval(() => tell('beat'), beatLimitMs / BEATS_PER_LIMIT);
        beat.unref();
      }
      await one.known.promise;
    },
    started: (token, pid) => {
      const one = watched.get(token);
      if (!one) return;
      one.pid = pid;
      tell(watchLine(one));
    },
    hasEnded: (token) => watched.get(token)?.hasEnded === true,
    unwatch: (token) => {
      if (!watched.delete(token)) return;
      tell(`unwatch ${token}`);
      if (watched.size > 0) return;
      clearInterval(beat);
      beat = undefined;
      clearTimeout(restart);
      restart = undefined;
    },
    close: async () => {
      isClosed = true;
      clearInterval(beat);
      clearTimeout(restart);
      refuseWaiting(CLOSED);
      const child = current;
      if (!child || child.pid === undefined) return;
      child.ref();
      const gone = new Promise((resolve) => void child.once('exit', resolve));
      // The end of its input is its word to leave; what is still watched it ends first.
      child.stdin.end();
      const timer = setTimeout(() => child.kill('SIGKILL'), CLOSE_MS);
      await gone;
      clearTimeout(timer);
    },
  };
};

const watchLine = ({ mark: { token, since, sockets }, pid }: Watched): string =>
  `watch ${token} ${pid ?? '-'} ${since} ${sockets.length > 0 ? sockets.join(',') : '-'}`;

/** It gets its first lines as arguments: a supervisor that exists knows what it is for, even if we die this moment. */
const startProcess = (beatLimitMs: number, lines: Iterable<string>): Process => {
  const child = spawn(process.execPath, [script, String(beatLimitMs), ...lines], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
    env: Object.fromEntries(KEPT_VARIABLES.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
  }) as Process;
  child.unref();
  // Without a pid the start has failed, and there are no streams.
  for (const stream of [child.stdin, child.stdout]) stream?.on('error', () => undefined).unref();
  return child;
};

const shared = new Map<number, { readonly supervisor: ReturnType<typeof openSupervisor>; users: number }>();

/** The one supervisor of this process for a beat limit; it ends when the last user has closed it. */
export const useSupervisor = (beatLimitMs: number): Supervisor & { close(): Promise<void> } => {
  const entry = shared.get(beatLimitMs) ?? { supervisor: openSupervisor(beatLimitMs), users: 0 };
  shared.set(beatLimitMs, entry);
  entry.users += 1;
  return {
    ...entry.supervisor,
    close: async () => {
      entry.users -= 1;
      if (entry.users > 0) return;
      shared.delete(beatLimitMs);
      await entry.supervisor.close();
    },
  };
};
