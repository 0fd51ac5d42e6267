import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { onTestFinished } from 'vitest';

/** A process in a test: it calls in by name, starts its children, and stays until it is told to leave or killed. */
export interface Actor {
  readonly name: string;
  readonly ignoresTerm?: boolean;
  /** Leaves as soon as its children are started, so that they lose their parent. */
  readonly leaves?: boolean;
  readonly children?: readonly (Actor & {
    /** In a session and group of its own. */
    readonly detached?: boolean;
    /** Without any environment. */
    readonly bare?: boolean;
    /** Without the standard streams of its parent. */
    readonly silent?: boolean;
  })[];
}

const SCRIPT = `
import { spawn } from 'node:child_process';
import { connect } from 'node:net';
const [plan, path] = process.argv.slice(2);
const { name, ignoresTerm, leaves, children = [] } = JSON.parse(plan);
if (ignoresTerm) process.on('SIGTERM', () => undefined);
for (const child of children) {
  spawn(process.execPath, [process.argv[1], JSON.stringify(child), path], {
    detached: child.detached === true,
    stdio: child.silent ? 'ignore' : 'inherit',
    ...(child.bare && { env: {} }),
  }).unref();
}
if (leaves) process.exit(0);
const line = connect(path, () => line.write(name + ' ' + process.pid + '\\n'));
line.on('data', () => process.exit(0));
line.on('error', () => undefined);
// It stays when the test is gone, too: only Sealane ends it.
setInterval(() => undefined, 1000);
`;

export interface Stage {
  /** The command of an agent that is this actor. */
  command(actor: Actor): [string, ...string[]];
  /** The pid of an actor that has called in, or will. */
  pidOf(name: string): Promise<number>;
  /** Tells an actor to end by itself, with exit code 0. */
  dismiss(name: string): void;
}

/** A directory with the actors' script and a socket that they call in on. They all end with the test, however it ends. */
export const openStage = (): Stage => {
  const directory = mkdtempSync(join(tmpdir(), 'sealane-stage-'));
  const script = join(directory, 'actor.mjs');
  const path = join(directory, 'socket');
  writeFileSync(script, SCRIPT);
  const pids = new Map<string, PromiseWithResolvers<number>>();
  const lines = new Map<string, Socket>();
  const seen = new Set<number>();
  const slot = (name: string): PromiseWithResolvers<number> => {
    const known = pids.get(name) ?? Promise.withResolvers<number>();
    pids.set(name, known);
    return known;
  };
  const server = createServer((line) => {
    line.on('error', () => undefined);
    line.on('data', (data) => {
      const [name = '', pid] = data.toString().trim().split(' ');
      lines.set(name, line);
      seen.add(Number(pid));
      slot(name).resolve(Number(pid));
    });
  }).listen(path);
  onTestFinished(() => {
    for (const pid of seen) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
    for (const line of lines.values()) line.destroy();
    server.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return {
    command: (actor) => [process.execPath, script, JSON.stringify(actor), path],
    pidOf: (name) => slot(name).promise,
    dismiss: (name) => void lines.get(name)?.write('leave\n'),
  };
};

/** Zombies are dead. */
export const isAlive = (pid: number): boolean => {
  try {
    if (process.platform !== 'linux') {
      return !execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).startsWith('Z');
    }
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return !['Z', 'X'].includes(stat.slice(stat.lastIndexOf(')') + 2)[0] ?? '');
  } catch {
    return false;
  }
};

/** Waits, but not for long, until all are dead; answers those that are not. */
export const survivors = async (pids: readonly number[], withinMs: number): Promise<readonly number[]> => {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const alive = pids.filter(isAlive);
    if (alive.length === 0 || performance.now() > deadline) return alive;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};
