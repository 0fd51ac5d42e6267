import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { postgresPrograms, type RunAs, unprivilegedAccount } from './postgres-binaries.ts';

export interface PostgresServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** A server of our own, which can be crashed and started again with its data. */
export interface OwnPostgres extends PostgresServer {
  /** As if the power went: no goodbye to clients, recovery at the next start. */
  crash(): Promise<void>;
  start(): Promise<void>;
}

/** The server that tests share: the one named by SEALANE_TEST_POSTGRES_URL, or one of our own. */
export const startPostgres = async (): Promise<PostgresServer> => {
  const url = process.env['SEALANE_TEST_POSTGRES_URL'];
  return url ? { url, stop: async () => {} } : startOwnPostgres();
};

const PASSWORD = 'p@ss/word';
const READY_WITHIN_MS = 30_000;

/** A real PostgreSQL from npm in a temporary folder on a free port of the loopback, durable as it comes. */
export const startOwnPostgres = async (): Promise<OwnPostgres> => {
  const account = unprivilegedAccount();
  const folder = await mkdtemp(join(tmpdir(), 'sealane-postgres-'));
  try {
    return await startIn(folder, account);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
};

const startIn = async (folder: string, account: RunAs): Promise<OwnPostgres> => {
  await chmod(folder, 0o755);
  const data = join(folder, 'data');
  await mkdir(data);
  if (account.uid !== undefined) await chown(data, account.uid, account.gid);
  const programs = await postgresPrograms(account, folder);
  await initialise(programs, data, folder, account);

  let port = await freePort();
  let server: { readonly child: ChildProcess; readonly guard: ChildProcess | undefined } | undefined;
  const start = async (): Promise<void> => {
    const child = await launch(join(programs, 'bin', 'postgres'), data, port, account);
    server = { child, guard: guardOf(child, folder) };
  };
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (!server) return;
    const { child, guard } = server;
    server = undefined;
    dismiss(guard);
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  };
  try {
    await start();
  } catch {
    // Somebody took the port between our look at it and the server's.
    port = await freePort();
    await start();
  }
  return {
    url: `postgres://postgres:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/postgres`,
    start,
    crash: () => end('SIGQUIT'),
    stop: async () => {
      await end('SIGINT');
      await rm(folder, { recursive: true, force: true });
    },
  };
};

const initialise = async (programs: string, data: string, folder: string, account: RunAs): Promise<void> => {
  const passwordFile = join(folder, 'password');
  await writeFile(passwordFile, PASSWORD);
  const child = spawn(
    join(programs, 'bin', 'initdb'),
    [
      '-D',
      data,
      '-U',
      'postgres',
      '-A',
      'scram-sha-256',
      '--pwfile',
      passwordFile,
      '-E',
      'UTF8',
      '--locale',
      'C',
      '--no-sync',
    ],
    { ...account, stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, LC_ALL: 'C' } },
  );
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`initdb failed (${code}): ${said}`);
};

const launch = async (program: string, data: string, port: number, account: RunAs): Promise<ChildProcess> => {
  const settings = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=200',
    'shared_buffers=64MB',
  ];
  const args = ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])];
  const child = spawn(program, args, {
    ...account,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, LC_ALL: 'C' },
  });
  let said = '';
  let isUp = false;
  try {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`PostgreSQL did not start in time: ${said}`)), READY_WITHIN_MS);
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        // It is read to the end, or the server would stand still, but only its start is interesting.
        if (isUp) return;
        said += text;
        isUp = said.includes('ready to accept connections');
        if (!isUp) return;
        clearTimeout(timer);
        resolve();
      });
      child.once('error', reject).once('exit', (code) => {
        clearTimeout(timer);
        reject(new Error(`PostgreSQL ended at its start (${code}): ${said}`));
      });
    });
  } catch (error) {
    child.kill('SIGQUIT');
    throw error;
  }
  return child;
};

/**
 * A shell that holds on to a pipe of ours: when this process dies, however it dies, the pipe closes and the shell stops
 * the server and removes its folder. Nothing is left after `kill -9`.
 */
const guardOf = (server: ChildProcess, folder: string): ChildProcess | undefined => {
  if (process.platform === 'win32') return undefined;
  const script = 'cat > /dev/null; kill -INT "$1"; for i in 1 2 3 4 5; do kill -0 "$1" && sleep 1; done; rm -rf "$2"';
  const guard = spawn('sh', ['-c', script, 'guard', String(server.pid), folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  guard.unref();
  (guard.stdin as Socket).unref();
  return guard;
};

/** The server is about to be stopped by us: its number may belong to somebody else soon. */
const dismiss = (guard: ChildProcess | undefined): void => {
  if (guard?.pid !== undefined) process.kill(-guard.pid, 'SIGKILL');
};

const freePort = async (): Promise<number> => {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (address === null || typeof address === 'string') throw new Error('The loopback has no free port.');
  return address.port;
};
