import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { monotonicMs } from './audit-log.ts';
import type { Disturbances } from './disturbances.ts';
import type { HostConfig } from './service-host.ts';

/** A service in a process of its own, and what can be done to it. */
export interface ServiceProcess {
  readonly name: string;
  readonly pid: number;
  /** Known when it is ready; rejects when it was killed before. */
  readonly ready: Promise<{ readonly url: string }>;
  readonly isAlive: boolean;
  /** `kill -9`; resolves when it is gone. */
  kill(): Promise<void>;
  /** As when a laptop sleeps: SIGSTOP, and SIGCONT. */
  pause(): void;
  resume(): void;
}

/** So much of what it said last. */
const SHOWN = 2000;

const HOST = fileURLToPath(new URL('service-host.ts', import.meta.url));

export const startService = (options: {
  readonly name: string;
  readonly folder: string;
  readonly config: HostConfig;
  readonly disturbances: Disturbances;
  readonly env?: Readonly<Record<string, string>>;
}): ServiceProcess => {
  const { name, folder, disturbances } = options;
  const log = openSync(join(folder, `${name}.log`), 'a');
  const child = spawn(process.execPath, ['--conditions=sealane:source', HOST, JSON.stringify(options.config)], {
    stdio: ['pipe', 'pipe', log],
    env: { ...process.env, ...options.env },
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`The service ${name} did not start.`);
  const exited = once(child, 'exit');
  let pausedAt: number | undefined;
  const isAlive = (): boolean => child.exitCode === null && child.signalCode === null;
  const ready = whenReady(child, name, join(folder, `${name}.log`));
  // Whoever kills a process that is still starting does not wait for it to be ready.
  ready.catch(() => undefined);

  return {
    name,
    pid,
    ready,
    get isAlive() {
      return isAlive();
    },
    kill: async () => {
      if (!isAlive()) return;
      disturbances.killed(pid, monotonicMs());
      child.kill('SIGKILL');
      await exited;
    },
    pause: () => {
      pausedAt = monotonicMs();
      child.kill('SIGSTOP');
    },
    resume: () => {
      if (pausedAt === undefined) return;
      disturbances.paused(pid, pausedAt, monotonicMs());
      pausedAt = undefined;
      child.kill('SIGCONT');
    },
  };
};

const whenReady = async (child: ChildProcess, name: string, log: string): Promise<{ readonly url: string }> => {
  if (!child.stdout) throw new Error(`The service ${name} has no output.`);
  for await (const line of createInterface({ input: child.stdout })) {
    const [, port] = /^ready (\d+)$/.exec(line) ?? [];
    if (port !== undefined) return { url: `http://127.0.0.1:${port}` };
  }
  throw new Error(`The service ${name} ended before it was ready: ${readFileSync(log, 'utf8').slice(-SHOWN)}`);
};
