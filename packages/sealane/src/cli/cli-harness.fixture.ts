import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const BIN = fileURLToPath(new URL('../../bin/sealane.mjs', import.meta.url));

export interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** The body, if it was JSON. */
  readonly body: { readonly method?: string; readonly params?: Record<string, unknown> } & Record<string, unknown>;
  readonly response: ServerResponse;
  readonly json: (value: unknown, status?: number, headers?: Record<string, string>) => void;
  /** Answers a JSON-RPC call. */
  readonly result: (value: unknown) => void;
  /** Starts a stream of events; `id` is the number of the event. */
  stream(): { event(id: number, result: unknown): void; end(): void; breakOff(): void };
}

export interface ScriptedService extends AsyncDisposable {
  readonly url: string;
  /** Everything that was asked, in order. */
  readonly seen: readonly Exchange[];
}

export const TEST_KEY = 'sl_test_key';

/** A service that answers what a test wants it to: real sockets, no engine. Keys other than `TEST_KEY` are refused. */
export const startScriptedService = async (answer: (exchange: Exchange) => void): Promise<ScriptedService> => {
  const seen: Exchange[] = [];
  const server = createServer((request, response) => {
    void text(request).then((content) => {
      const exchange = exchangeOf(request, response, content);
      seen.push(exchange);
      if (exchange.path !== '/healthz' && request.headers.authorization !== `Bearer ${TEST_KEY}`) {
        exchange.json({ error: { code: 'unauthenticated', message: 'This key is not known.' } }, 401);
      } else answer(exchange);
    });
  });
  // Also plays a proxy: every host is itself.
  server.on('connect', (_request, socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    server.emit('connection', socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

const exchangeOf = (request: IncomingMessage, response: ServerResponse, content: string): Exchange => {
  const json = (value: unknown, status = 200, headers: Record<string, string> = {}) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(status === 204 ? undefined : JSON.stringify(value));
  };
  return {
    method: request.method ?? '',
    path: request.url ?? '',
    headers: request.headers,
    body: content.startsWith('{') ? (JSON.parse(content) as Exchange['body']) : {},
    response,
    json,
    result: (value) => json({ jsonrpc: '2.0', id: 1, result: value }),
    stream: () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(': hello\n\n');
      return {
        event: (id, result) =>
          void response.write(`id: ${id}\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result })}\n\n`),
        end: () => void response.end(),
        breakOff: () => void response.destroy(),
      };
    },
  };
};

export interface CliRun {
  readonly child: ChildProcess;
  /** Resolves when stdout has this, with what the first group matched. */
  readonly saw: (part: string | RegExp) => Promise<string>;
  readonly sawOnStderr: (part: string | RegExp) => Promise<string>;
  readonly done: Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>;
}

export interface CliSetup extends Disposable {
  readonly home: string;
  start(
    args: readonly string[],
    options?: { readonly env?: NodeJS.ProcessEnv; readonly stdin?: string | Uint8Array },
  ): CliRun;
  run(
    args: readonly string[],
    options?: { readonly env?: NodeJS.ProcessEnv; readonly stdin?: string | Uint8Array },
  ): CliRun['done'];
}

/** The real command line, as a process of its own, with a home folder of its own. */
export const setUpCli = (service?: { readonly url: string }): CliSetup => {
  const home = mkdtempSync(join(tmpdir(), 'sealane-cli-'));
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(sealane|npm)_/i.test(name)));
  const children = new Set<ChildProcess>();
  const start: CliSetup['start'] = (args, { env = {}, stdin } = {}) => {
    const child = spawn(process.execPath, [BIN, ...args], {
      cwd: home,
      // One cache for all homes: a test is not about compiling.
      env: {
        ...inherited,
        HOME: home,
        XDG_CACHE_HOME: join(tmpdir(), 'sealane-test-cache'),
        NO_COLOR: '1',
        ...(service && { SEALANE_URL: service.url, SEALANE_API_KEY: TEST_KEY }),
        ...env,
      },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    children.add(child);
    child.once('close', () => children.delete(child));
    child.stdin.end(stdin ?? '');
    const everything = () => `${stdout.text()}${stderr.text()}`;
    const stdout = gather(child, child.stdout, everything);
    const stderr = gather(child, child.stderr, everything);
    return {
      child,
      saw: stdout.saw,
      sawOnStderr: stderr.saw,
      done: once(child, 'close').then(([code]) => ({
        code: code as number | null,
        stdout: stdout.text(),
        stderr: stderr.text(),
      })),
    };
  };
  return {
    home,
    start,
    run: (args, options) => start(args, options).done,
    [Symbol.dispose]: () => {
      // A test that failed leaves no service behind.
      for (const child of children) child.kill('SIGKILL');
      rmSync(home, { recursive: true, force: true });
    },
  };
};

/** What a process writes, as it comes. */
const gather = (child: ChildProcess, stream: Readable, everything: () => string) => {
  let words = '';
  let onWords = () => {};
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    words += chunk;
    onWords();
  });
  const saw = (part: string | RegExp): Promise<string> =>
    new Promise((resolve, reject) => {
      const pattern =
        typeof part === 'string' ? new RegExp(part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)) : part;
      onWords = () => {
        const match = pattern.exec(words);
        if (match) resolve(match[1] ?? match[0]);
      };
      child.once('close', () => reject(new Error(`ended without ${pattern}: ${everything()}`)));
      onWords();
    });
  return { saw, text: () => words };
};

export interface StartedService extends CliRun {
  readonly url: string;
}

/** The real service on a free port, ready; its data folder is the home's own. */
export const startService = async (cli: CliSetup, args: readonly string[] = []): Promise<StartedService> => {
  const run = cli.start(['serve', '--port', '0', ...args]);
  const url = await run.saw(/sealane ready on (\S+)\n/);
  return { ...run, url };
};

/** Frames of a task's stream, short to write. */
export const frames = {
  task: (state: string, extra: Record<string, unknown> = {}) => ({
    task: { id: 't-1', contextId: 'c-1', status: statusOf(state), ...extra },
  }),
  status: (state: string, said?: string) => ({
    statusUpdate: { taskId: 't-1', contextId: 'c-1', status: statusOf(state, said) },
  }),
  chunk: (words: string, append = true) => ({
    artifactUpdate: {
      taskId: 't-1',
      contextId: 'c-1',
      artifact: { artifactId: 'a-1', parts: [{ text: words }] },
      ...(append && { append }),
    },
  }),
};

const statusOf = (state: string, said?: string) => ({
  state: `TASK_STATE_${state.toUpperCase().replaceAll('-', '_')}`,
  timestamp: '2026-01-31T12:00:00.000Z',
  ...(said !== undefined && { message: { messageId: 'm-9', role: 'ROLE_AGENT', parts: [{ text: said }] } }),
});

/** A task as the admin API shows it. */
export const taskView = (id: string, state: string) => ({
  task: {
    id,
    contextId: 'c-1',
    status: statusOf(state),
    history: [{ messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'hello\nthere' }] }],
    artifacts: [{ artifactId: 'a-1', name: 'answer', parts: [{ text: 'The answer \u001B[2J is 42' }] }],
  },
  owner: 'ann',
  tenant: '',
  agent: 'echo',
  lane: 'echo//ann/c-1',
  createdAt: '2026-01-31T12:00:00.000Z',
  updatedAt: '2026-01-31T12:00:01.000Z',
  lastSeq: 4,
  direct: false,
});
