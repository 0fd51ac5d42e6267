import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { FastifyInstance } from 'fastify';
import pino from 'pino';

import { createAgentRegistry } from '#engine';
import { createKeys, createRateLimiter, createUnreadAnswers, type Keys } from '#identity';
import { createProtocol, type ProtocolOptions } from '#protocol';
import { agentNamed } from '#protocol/agent-named.fixture';
import type { Storage } from '#store';
import { openSqlite } from '#store/sqlite/index';

import { createFakeService, type FakeService } from './fake-service.fixture.ts';
import { createHttpApp } from './http-app.ts';
import type { HttpMetrics, HttpOptions } from './http-deps.ts';

export const ADMIN_KEY = 'sl_test-admin-key';

export interface TestApp extends AsyncDisposable {
  readonly app: FastifyInstance;
  readonly url: string;
  readonly service: FakeService;
  readonly storage: Storage;
  readonly keys: Keys;
  /** What was logged, a JSON object a line. */
  readonly logged: readonly string[];
  readonly metrics: { readonly streams: () => number; readonly calls: readonly string[] };
  /** A JSON-RPC call with the admin key. */
  call(method: string, params?: unknown, init?: CallInit): Promise<CallAnswer>;
}

export interface CallInit {
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly id?: unknown;
}

export interface CallAnswer {
  readonly status: number;
  readonly headers: Headers;
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any;
}

export const message = (text: string, more: object = {}): object => ({
  message: { messageId: 'm1', role: 'ROLE_USER', parts: [{ text }], ...more },
});

/** Writes bytes as they are and reads until the connection ends. */
export const speak = async (url: string, text: string): Promise<string> => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  let answer = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => (answer += chunk));
  socket.write(text);
  await once(socket, 'close');
  return answer;
};

/** The real app on a real socket over a real store, with a service that needs no engine. */
export const openTestApp = async (
  options: Partial<HttpOptions> = {},
  spoken: Pick<ProtocolOptions, 'extensions'> = {},
): Promise<TestApp> => {
  const folder = await mkdtemp(join(tmpdir(), 'sealane-http-'));
  const storage = await openSqlite({ file: join(folder, 'tasks.db') });
  const service = createFakeService();
  const logged: string[] = [];
  const log = pino({ level: 'debug' }, { write: (line) => void logged.push(line) });
  const keys = createKeys({ keys: storage.keys, audit: storage.audit, now: Date.now, adminKey: ADMIN_KEY });
  const calls: string[] = [];
  let streams = 0;
  const metrics: HttpMetrics = {
    answered: () => undefined,
    called: (method, outcome) => void calls.push(`${method} ${outcome}`),
    streamOpened: () => void (streams += 1),
    streamClosed: () => void (streams -= 1),
    render: async () => ({ contentType: 'text/plain; version=0.0.4', text: 'up 1\n' }),
  };
  const registry = createAgentRegistry([
    agentNamed('echo', { isDefault: true, isPublic: true }),
    agentNamed('private'),
  ]);
  const app = createHttpApp({
    protocol: createProtocol({ service, registry, version: '9.9.9', cards: { keys: storage.cardKeys }, ...spoken }),
    service,
    registry,
    storage,
    keys,
    rateLimiter: createRateLimiter({ now: Date.now }),
    unread: createUnreadAnswers(),
    log,
    metrics,
    ready: async () => ({ status: 'ok' }),
    running: () => 0,
    now: Date.now,
    version: '9.9.9',
    instance: 'test',
    startedAt: Date.now(),
    options,
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  return {
    app,
    url,
    service,
    storage,
    keys,
    logged,
    metrics: { streams: () => streams, calls },
    call: async (method, params, { path = '/a2a', headers = {}, id = 1 } = {}) => {
      const response = await fetch(url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
      });
      return { status: response.status, headers: response.headers, body: await response.json() };
    },
    [Symbol.asyncDispose]: async () => {
      await app.close();
      await storage.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
};
