import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { ADMIN_KEY, message, openTestApp, speak, type TestApp } from './http-app.fixture.ts';

let test: TestApp;
beforeAll(async () => {
  test = await openTestApp();
});
afterAll(async () => test[Symbol.asyncDispose]());

const AUTH = { authorization: `Bearer ${ADMIN_KEY}` };
const JSON_TYPE = { ...AUTH, 'content-type': 'application/json' };
const post = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = JSON_TYPE): Promise<Response> =>
  fetch(test.url, { method: 'POST', headers, body });

describe('a call', () => {
  it('is answered on /, /a2a, /a2a/v1 and /agents/<name>, with and without a trailing slash', async () => {
    for (const path of ['/', '/a2a', '/a2a/', '/a2a/v1', '/agents/echo', '/agents/echo/', '//']) {
      const { status, headers, body } = await test.call('SendMessage', message('hi'), { path });
      expect(status, path).toBe(200);
      expect(headers.get('content-type')).toBe('application/json');
      expect(body).toMatchObject({
        jsonrpc: '2.0',
        id: 1,
        result: { task: { status: { state: 'TASK_STATE_COMPLETED' } } },
      });
    }
  });

  it('names its agent by the address, which metadata cannot change, or else by metadata', async () => {
    const metadata = { executor: 'private' };
    await test.call('SendMessage', { ...message('a'), metadata }, { path: '/agents/echo' });
    expect(test.service.sent.at(-1)).toMatchObject({ request: { agent: 'echo' }, caller: { agent: 'echo' } });
    await test.call('SendMessage', message('b', { metadata }));
    expect(test.service.sent.at(-1)).toMatchObject({ request: { agent: 'private' } });
    expect(test.service.sent.at(-1)?.caller).not.toHaveProperty('agent');
  });

  it('waits for its turn unless told otherwise, and passes its headers on', async () => {
    await test.call(
      'SendMessage',
      { ...message('x'), configuration: { returnImmediately: true } },
      { headers: { 'idempotency-key': 'k', 'sealane-ancestors': 'r1,r2' } },
    );
    expect(test.service.sent.at(-1)).toMatchObject({
      wait: false,
      request: { idempotencyKey: 'k', ancestors: ['r1', 'r2'] },
    });
  });

  it('takes A2A media type, a charset, and the version in header or query', async () => {
    for (const type of [
      'application/a2a+json',
      'application/json; charset=UTF-8',
      'application/json;charset="utf-8"',
    ]) {
      expect((await test.call('ListTasks', {}, { headers: { 'content-type': type } })).body.result.pageSize).toBe(50);
    }
    expect((await test.call('ListTasks', {}, { path: '/?A2A-Version=1.0.3' })).body.result).toBeDefined();
    expect((await test.call('ListTasks', {}, { path: '/?A2A-Version=7.0' })).body.error.code).toBe(-32009);
    expect((await test.call('ListTasks', {}, { headers: { 'a2a-version': '7.0' } })).body.error.code).toBe(-32009);
    expect(
      (await test.call('ListTasks', {}, { headers: { 'a2a-extensions': 'https://nobody.example/x' } })).body.result,
    ).toBeDefined();
  });

  it('gets errors of the protocol with status 200, and when to come back', async () => {
    const full = await test.call('SendMessage', message('full'));
    expect(full).toMatchObject({ status: 200, body: { id: 1, error: { code: -32015 } } });
    expect(full.headers.get('retry-after')).toBe('2');
    expect((await test.call('GetTask', { id: 'nobody' })).body.error.code).toBe(-32001);
  });

  it('learns nothing of a bug but an id, under which the log has it all', async () => {
    const { status, body } = await test.call('SendMessage', message('break'), { id: 'req' });
    expect(status).toBe(200);
    expect(body).toMatchObject({ id: 'req', error: { code: -32603 } });
    expect(JSON.stringify(body)).not.toMatch(/secret|stack|\.ts/);
    const id = body.error.data[0].metadata.correlationId as string;
    expect(test.logged.find((line) => line.includes(id) && line.includes('the secret reason'))).toBeDefined();
  });

  it('gets an answer of its own for each request, though they share an id and a connection', async () => {
    const [a, b] = await Promise.all([
      test.call('SendMessage', message('a'), { id: 7 }),
      test.call('SendMessage', message('b'), { id: 7 }),
    ]);
    expect([a.body.id, b.body.id]).toEqual([7, 7]);
    expect(a.body.result.task.id).not.toBe(b.body.result.task.id);
  });

  it('may have the answer be a message', async () => {
    expect((await test.call('SendMessage', message('direct'))).body.result).toEqual({
      message: { messageId: 'm2', role: 'ROLE_AGENT', parts: [{ text: 'hi' }], contextId: 'c' },
    });
  });

  it('is counted by method and outcome', async () => {
    await test.call('GetTask', { id: 'nobody' });
    await test.call('Nope');
    expect(test.metrics.calls.at(-1)).toBe('GetTask task-not-found');
  });
});

describe('a body', () => {
  it.each([
    ['malformed JSON', '{"jsonrpc":', 200, -32700],
    ['nothing', '', 200, -32700],
    ['ten thousand levels', '['.repeat(10_000) + ']'.repeat(10_000), 200, -32600],
    [
      'NUL',
      '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"\\u0000"}]}}}',
      200,
      -32602,
    ],
    [
      'half a surrogate pair',
      '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"\\ud800"}]}}}',
      200,
      -32602,
    ],
    ['more than 1 MiB', `"${'x'.repeat(1024 * 1024)}"`, 413, -32013],
    ['much more than 1 MiB', `"${'x'.repeat(12 * 1024 * 1024)}"`, 413, -32013],
  ])('of %s is refused clearly', async (_name, body, status, code) => {
    const response = await post(body);
    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toMatchObject({
      jsonrpc: '2.0',
      error: { code, message: expect.any(String) as string },
    });
  });

  it('that is not UTF-8 is refused, not mended', async () => {
    expect(await (await post(new Uint8Array([0x22, 0xff, 0x22]))).json()).toMatchObject({ error: { code: -32700 } });
  });

  it.each([
    ['text', { 'content-type': 'text/plain' }],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['no type', { 'content-type': '' }],
    ['a broken type', { 'content-type': '///' }],
    ['another charset', { 'content-type': 'application/json; charset=utf-16' }],
    ['compressed JSON', { 'content-type': 'application/json', 'content-encoding': 'gzip' }],
  ])('of %s is refused as 415, in JSON', async (_name, headers) => {
    const response = await post('{}', { ...AUTH, ...headers });
    expect(response.status).toBe(415);
    expect(await response.json()).toMatchObject({ jsonrpc: '2.0', error: { code: -32005 } });
  });

  it('that comes in pieces, through a character, is read whole', async () => {
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: message('ä€😀') }));
    const socket = connect(Number(new URL(test.url).port), '127.0.0.1').setEncoding('utf8');
    socket.write(
      `POST / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${ADMIN_KEY}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    for (const byte of body) {
      socket.write(Buffer.of(byte));
      await new Promise(setImmediate);
    }
    let answer = '';
    for await (const chunk of socket) answer += String(chunk);
    expect(answer).toContain('ä€😀');
  });
});

describe('everything else', () => {
  it('is refused in JSON: unknown addresses, wrong methods, bad paths, unknown agents', async () => {
    for (const [method, path, status] of [
      ['GET', '/nowhere', 404],
      ['GET', '/', 405],
      ['GET', '/a2a', 405],
      ['PUT', '/agents/echo', 405],
      ['POST', '/healthz', 405],
      ['DELETE', '/.well-known/agent-card.json', 405],
      ['POST', '/agents/nobody', 404],
      ['GET', '/%zz', 400],
      ['GET', '/admin/nowhere', 404],
      ['DELETE', '/admin/info', 405],
      ['GET', `/agents/${'x'.repeat(600)}`, 404],
    ] as const) {
      const response = await fetch(test.url + path, {
        method,
        headers: method === 'POST' ? JSON_TYPE : AUTH,
        ...(method === 'POST' && { body: '{}' }),
      });
      expect(response.status, `${method} ${path}`).toBe(status);
      expect(response.headers.get('content-type')).toBe('application/json');
      expect(await response.json()).toHaveProperty('error');
      if (status === 405) expect(response.headers.get('allow')).toMatch(/GET|POST/);
    }
  });

  it('is refused in JSON even when it is not HTTP, or has too many headers', async () => {
    expect(await speak(test.url, 'nonsense\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 [^]*\{"jsonrpc":"2\.0"/);
    expect(await speak(test.url, `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 431 [^]*\{"jsonrpc":"2\.0"/,
    );
  });

  it('has safe headers', async () => {
    const { headers } = await fetch(`${test.url}/healthz`);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-powered-by')).toBeNull();
  });

  it('shows metrics to this machine and to admins, and to nobody behind a proxy', async () => {
    expect(await (await fetch(`${test.url}/metrics`)).text()).toBe('up 1\n');
    const headers = { 'x-forwarded-for': '1.2.3.4' };
    expect((await fetch(`${test.url}/metrics`, { headers })).status).toBe(401);
    expect((await fetch(`${test.url}/metrics`, { headers: { ...headers, ...AUTH } })).status).toBe(200);
    const { secret } = await test.keys.create({ name: 'no-metrics' }, 'admin');
    expect(
      (await fetch(`${test.url}/metrics`, { headers: { ...headers, authorization: `Bearer ${secret}` } })).status,
    ).toBe(403);
  });
});

it('a caller that drops its line while it sends a body is no failure of the service', async () => {
  const before = test.logged.length;
  const arrived = once(test.app.server, 'request') as Promise<[IncomingMessage]>;
  const socket = connect(Number(new URL(test.url).port), '127.0.0.1');
  const headers = Object.entries({ host: '127.0.0.1', ...JSON_TYPE, 'content-length': '1000' });
  socket.write(`POST / HTTP/1.1\r\n${headers.map((pair) => pair.join(': ')).join('\r\n')}\r\n\r\n{"half":`);
  const [request] = await arrived;
  await once(request, 'data');
  const closed = new Promise((resolve) => void request.on('close', resolve));
  socket.resetAndDestroy();
  await closed;
  // By then whatever came of it has been said.
  expect((await test.call('SendMessage', message('still there?'))).status).toBe(200);
  expect(test.logged.slice(before).filter((line) => line.includes('a request failed'))).toEqual([]);
});
