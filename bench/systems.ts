import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { serviceIn, THIS_CHECKOUT } from './checkout.ts';
import { within } from './load.ts';
import { BENCH_KEY } from './requests.ts';

/** `before` is an earlier version of Sealane, in a checkout of its own. */
export type SystemName = 'sealane' | 'before' | 'sdk-sqlite' | 'sdk-memory' | 'bare';

/** A server under test: a child process of its own. */
export interface System extends AsyncDisposable {
  readonly name: SystemName;
  readonly pid: number;
  readonly port: number;
  /** 0: it does not speak gRPC here. */
  readonly grpcPort: number;
}

export interface StartOptions {
  /** A directory of its own, on the disk that is to be measured. */
  readonly dataDir: string;
  readonly signal: AbortSignal;
  /** The checkout of the system `before`. */
  readonly before?: string | undefined;
  /** Also listen for gRPC, where the system can. */
  readonly grpc?: boolean;
  /** More environment: probes and shims. */
  readonly env?: Readonly<Record<string, string>>;
}

const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 15_000;
const fileOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** What a system is started with. */
interface Place {
  readonly port: number;
  /** 0: no gRPC. */
  readonly grpcPort: number;
  readonly dataDir: string;
}

/** The same for every checkout. Its `bin` runs the build if that is younger than the sources, and otherwise the sources. */
const sealaneIn = (checkout: string, { port, grpcPort, dataDir }: Place): readonly string[] => [
  serviceIn(checkout),
  'serve',
  `--port=${port}`,
  `--data-dir=${dataDir}`,
  '--store=sqlite',
  `--admin-key=${BENCH_KEY}`,
  ...(grpcPort > 0 ? [`--grpc-port=${grpcPort}`] : []),
];

const SDK = fileOf('servers/sdk.ts');

/** How each system is started: the arguments of `node`. */
const COMMANDS: Readonly<Record<SystemName, (place: Place, before: string | undefined) => readonly string[]>> = {
  sealane: (place) => sealaneIn(THIS_CHECKOUT, place),
  before: (place, before) => {
    if (before === undefined) throw new Error('There is no earlier version to start. Name its checkout: --before DIR');
    return sealaneIn(before, place);
  },
  'sdk-sqlite': ({ port, grpcPort, dataDir }) => [SDK, String(port), String(grpcPort), join(dataDir, 'tasks.db')],
  'sdk-memory': ({ port, grpcPort }) => [SDK, String(port), String(grpcPort)],
  bare: ({ port }) => [fileOf('servers/bare.ts'), String(port)],
};

/** Starts a system and waits until it says that it is ready. */
export const startSystem = async (name: SystemName, options: StartOptions): Promise<System> => {
  const { dataDir, signal } = options;
  mkdirSync(dataDir, { recursive: true });
  if (name === 'sdk-sqlite') await createSdkSchema(join(dataDir, 'tasks.db'), signal);
  const port = await freePort();
  const grpcPort = options.grpc ? await freePort() : 0;
  const log = join(dataDir, 'stderr.log');
  const child = run(COMMANDS[name]({ port, grpcPort, dataDir }, options.before), log, options.env);
  try {
    await within(readyLine(child, ` ready on http://127.0.0.1:${port}`), START_TIMEOUT_MS, signal);
  } catch (error) {
    await stop(child);
    console.error(readFileSync(log, 'utf8').slice(-2000));
    throw new Error(`${name} did not start`, { cause: error });
  }
  return { name, port, grpcPort, pid: child.pid ?? 0, [Symbol.asyncDispose]: () => stop(child) };
};

/** The SDK's migrations are only reachable through its command line tool. */
const createSdkSchema = async (file: string, signal: AbortSignal): Promise<void> => {
  const tool = fileURLToPath(new URL('cli/a2a_db.js', import.meta.resolve('@a2a-js/sdk')));
  const driver = new URL('./servers/find-driver.mjs', import.meta.url).href;
  const child = run(['--import', driver, tool, 'upgrade', '--url', `sqlite:${file}`], `${file}.log`);
  child.stdout?.resume();
  const code = await within(exitOf(child), START_TIMEOUT_MS, signal);
  if (code === 0) return;
  throw new Error(`a2a-db could not create the schema (${code}): ${readFileSync(`${file}.log`, 'utf8').slice(-500)}`);
};

/** Runs Node with its errors in a file: a server that logs must not make the client work. */
const run = (args: readonly string[], log: string, env: Readonly<Record<string, string>> = {}): ChildProcess => {
  const errors = openSync(log, 'a');
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', errors],
    env: { ...process.env, NODE_ENV: 'production', ...env },
  });
  closeSync(errors);
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  return child;
};

const exitOf = (child: ChildProcess): Promise<number | null> =>
  child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve(child.exitCode)
    : new Promise((resolve, reject) => {
        child.once('exit', resolve);
        child.once('error', reject);
      });

/** Resolves at the ready line, and drops what comes after it; rejects when the process ends without one. */
const readyLine = async (child: ChildProcess, mark: string): Promise<void> => {
  if (!child.stdout) throw new Error('the child process has no output');
  const lines = createInterface({ input: child.stdout });
  const ready = new Promise<void>((resolve) => {
    lines.on('line', (line) => {
      if (line.includes(mark)) resolve();
    });
  });
  const ended = exitOf(child).then((code) => {
    throw new Error(`it ended with ${code}`);
  });
  await Promise.race([ready, ended]);
  lines.close();
  child.stdout.resume();
};

/** Asks, waits, and only then kills: a system that is stopped in the middle of a commit leaves a journal to replay. */
const stop = async (child: ChildProcess): Promise<void> => {
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await exitOf(child).catch(() => undefined);
  clearTimeout(timer);
};

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
