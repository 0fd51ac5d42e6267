import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';

import { installOpenclaw } from './installed-openclaw.ts';

const READY_MS = 120_000;
const STOP_MS = 20_000;
const NO_REGISTRY = 'http://127.0.0.1:9/';

/** A real Gateway with a home of its own, on loopback. */
export interface GatewayProcess extends AsyncDisposable {
  readonly url: string;
  readonly httpUrl: string;
  readonly token: string;
  readonly home: string;
  readonly workspace: string;
  readonly pid: number;
  log(): string;
  /** Runs `openclaw …` in the Gateway's home, without any registry to ask. */
  openclaw(...words: readonly string[]): Promise<CommandOutcome>;
  /** SIGKILL; the state stays. */
  kill(): Promise<void>;
  /** SIGTERM, and SIGKILL when that takes too long; the state stays. */
  stop(): Promise<void>;
  /** Starts it again on the same state and port; resolves when it is ready. */
  start(): Promise<void>;
  /** Ends it and removes its home. */
  close(): Promise<void>;
}

export interface CommandOutcome {
  readonly code: number | null;
  readonly stdout: string;
  /** Everything that it said. */
  readonly output: string;
}

export interface GatewayOptions {
  readonly modelUrl: string;
  /** Merged into the configuration at its top. */
  readonly config?: (place: { readonly httpUrl: string }) => Readonly<Record<string, unknown>>;
  /** False: made and configured, but not started. */
  readonly started?: boolean;
}

/** A port that nobody listens on at this moment. */
export const freePort = async (): Promise<number> => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('No port was bound.');
  return address.port;
};

export const openGateway = async ({
  modelUrl,
  config = () => ({}),
  started = true,
}: GatewayOptions): Promise<GatewayProcess> => {
  const entry = await installOpenclaw();
  const home = mkdtempSync(join(tmpdir(), 'sealane-openclaw-'));
  const workspace = join(home, 'workspace');
  const logFile = join(home, 'openclaw.log');
  const configFile = join(home, 'openclaw.json');
  const port = await freePort();
  const token = 'tok-of-the-tests';
  mkdirSync(workspace, { recursive: true });
  writeFileSync(
    configFile,
    JSON.stringify(
      {
        ...baseConfig({ port, token, workspace, modelUrl, logFile }),
        ...config({ httpUrl: `http://127.0.0.1:${port}` }),
      },
      undefined,
      2,
    ),
  );

  let child: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    const output = createWriteStream(join(home, 'output.log'), { flags: 'a' });
    const process_ = spawn(process.execPath, [entry, 'gateway', 'run', '--port', String(port), '--bind', 'loopback'], {
      cwd: home,
      env: environment(home, configFile),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child = process_;
    process_.stdout.pipe(output);
    process_.stderr.pipe(output);
    await waitReady(`http://127.0.0.1:${port}/readyz`, process_, log);
  };
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    const timer = new AbortController();
    const late = delay(STOP_MS, 'late', { signal: timer.signal }).catch(() => 'late');
    if ((await Promise.race([ended, late])) === 'late') {
      child.kill('SIGKILL');
      await ended;
    }
    timer.abort();
  };
  const openclaw: GatewayProcess['openclaw'] = async (...words) => {
    const command = spawn(process.execPath, [entry, ...words], {
      cwd: home,
      env: { ...environment(home, configFile), npm_config_registry: NO_REGISTRY },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = once(command, 'close') as Promise<[number | null]>;
    const [out, err] = await Promise.all([text(command.stdout), text(command.stderr)]);
    const [code] = await ended;
    return { code, stdout: out, output: `${out}${err}` };
  };
  const log = (): string => {
    const files = [join(home, 'output.log'), logFile].filter((file) => existsSync(file));
    return files.map((file) => readFileSync(file, 'utf8')).join('\n');
  };
  const close = async (): Promise<void> => {
    await end('SIGKILL');
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  };
  if (started) {
    try {
      await start();
    } catch (error) {
      await close();
      throw error;
    }
  }
  return {
    url: `ws://127.0.0.1:${port}`,
    httpUrl: `http://127.0.0.1:${port}`,
    token,
    home,
    workspace,
    get pid() {
      return child?.pid ?? 0;
    },
    log,
    openclaw,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    start,
    close,
    [Symbol.asyncDispose]: close,
  };
};

const waitReady = async (url: string, child: ChildProcess, log: () => string): Promise<void> => {
  const until = performance.now() + READY_MS;
  for (;;) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`The Gateway ended:\n${log().slice(-4000)}`);
    const ok = await fetch(url, { signal: AbortSignal.timeout(5000) }).then(
      ({ status }) => status === 200,
      () => false,
    );
    if (ok) return;
    if (performance.now() > until) throw new Error(`The Gateway was not ready in time:\n${log().slice(-4000)}`);
    await delay(100);
  }
};

/** Nothing of the person at this machine reaches the Gateway: no home, no keys, no settings. */
const environment = (home: string, configFile: string): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  LANG: 'C.UTF-8',
  HOME: home,
  TMPDIR: tmpdir(),
  OPENCLAW_STATE_DIR: join(home, 'state'),
  OPENCLAW_CONFIG_PATH: configFile,
  OPENCLAW_NO_RESPAWN: '1',
  NO_COLOR: '1',
});

const baseConfig = (options: {
  readonly port: number;
  readonly token: string;
  readonly workspace: string;
  readonly modelUrl: string;
  readonly logFile: string;
}): Record<string, unknown> => ({
  gateway: { mode: 'local', bind: 'loopback', port: options.port, auth: { mode: 'token', token: options.token } },
  logging: { file: options.logFile },
  models: {
    mode: 'replace',
    providers: {
      fake: {
        baseUrl: options.modelUrl,
        apiKey: 'sk-local',
        api: 'openai-completions',
        models: [
          {
            id: 'echo',
            name: 'Echo',
            reasoning: true,
            input: ['text', 'image'],
            cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
            contextWindow: 128_000,
            maxTokens: 8192,
          },
        ],
      },
    },
  },
  agents: { defaults: { model: { primary: 'fake/echo' }, workspace: options.workspace, skipBootstrap: true } },
  tools: { sessions: { visibility: 'self' } },
});
