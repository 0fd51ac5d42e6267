import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { type A2aClient, createA2aClient } from './a2a-client.ts';
import { type AdminClient, createAdminClient } from './admin-client.ts';
import type { OtherUser } from './other-user.ts';
import { ADMIN_KEY } from './service.ts';

const BIN = fileURLToPath(new URL('../../packages/sealane/bin/sealane.mjs', import.meta.url));

export interface ServeOptions {
  /** Text of the configuration file. */
  readonly config?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly args?: readonly string[];
  /** Whom to run it as; as the user of this process, if nobody is named. */
  readonly as?: OtherUser | undefined;
}

/** The service as a process of its own. */
export interface ServedProcess extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  readonly client: A2aClient;
  readonly admin: AdminClient;
  /** What it has logged. */
  log(): string;
  /** Its exit code, when it has ended by itself. */
  ended(): Promise<number | null>;
  /** SIGTERM, and its exit code. */
  stop(): Promise<number | null>;
  /** SIGKILL. */
  kill(): Promise<void>;
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A folder that is gone after the test. */
export const freshFolder = (): { readonly path: string } & Disposable => {
  const path = mkdtempSync(join(tmpdir(), 'sealane-e2e-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
};

/** `sealane serve` with a data folder, on a free port, once it is ready. */
export const serve = async (dataDir: string, options: ServeOptions = {}): Promise<ServedProcess> => {
  const { child, ended, ready, log } = launch(dataDir, options);
  const url = await ready;
  const signal = async (name: NodeJS.Signals): Promise<number | null> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(name);
    return (await ended).code;
  };
  const kill = async (): Promise<void> => {
    await signal('SIGKILL');
  };
  return {
    url,
    pid: child.pid ?? 0,
    client: createA2aClient({ url, key: ADMIN_KEY }),
    admin: createAdminClient(url, ADMIN_KEY),
    log,
    ended: async () => (await ended).code,
    stop: () => signal('SIGTERM'),
    kill,
    [Symbol.asyncDispose]: kill,
  };
};

/** `sealane serve` that must end by itself; one that becomes ready after all is stopped and is a failure. */
export const serveInVain = async (dataDir: string, options: ServeOptions = {}): Promise<Ended> => {
  const { child, ended, ready } = launch(dataDir, options);
  ready.then(
    () => child.kill('SIGKILL'),
    () => undefined,
  );
  return await ended;
};

const launch = (dataDir: string, { config, env = {}, args = [], as }: ServeOptions) => {
  if (config !== undefined) writeFileSync(join(dataDir, 'sealane.yaml'), config);
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(sealane|npm|vitest|otel|node_options)/i.test(name)),
  );
  const words = [as?.bin ?? BIN, 'serve', '--port', '0', '--data-dir', dataDir, '--admin-key', ADMIN_KEY, ...args];
  const child = spawn(as?.node ?? process.execPath, words, {
    ...(as && { uid: as.uid, gid: as.uid }),
    // One cache for all: no test is about compiling.
    env: { ...inherited, XDG_CACHE_HOME: join(tmpdir(), 'sealane-test-cache'), NO_COLOR: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);
  const ended = endOf(child).then((code): Ended => ({ code, stdout: stdout.text(), stderr: stderr.text() }));
  const ready = new Promise<string>((resolve, reject) => {
    stdout.onText((text) => {
      const [, url] = /sealane ready on (\S+)\n/.exec(text) ?? [];
      if (url !== undefined) resolve(url);
    });
    void ended.then((end) => reject(new Error(`The service ended before it was ready: ${JSON.stringify(end)}`)));
  });
  return { child, ended, ready, log: () => stderr.text() };
};

const endOf = async (child: ChildProcess): Promise<number | null> => {
  const [code] = (await once(child, 'close')) as [number | null];
  return code;
};

const collect = (stream: NodeJS.ReadableStream): { text(): string; onText(listener: (text: string) => void): void } => {
  let text = '';
  let tell = (_text: string): void => undefined;
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    text += chunk;
    tell(text);
  });
  return { text: () => text, onText: (listener) => (tell = listener) };
};
