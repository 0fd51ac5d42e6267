import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { message, openTestApp, speak, type TestApp } from './http-app.fixture.ts';

let test: TestApp;
beforeAll(async () => {
  test = await openTestApp({
    allowedOrigins: ['https://console.example', 'https://Written.example:443/', 'app://shell'],
    allowedHosts: ['tasks.example'],
  });
});
afterAll(async () => test[Symbol.asyncDispose]());

const post = (body: string, headers: Record<string, string>): Promise<Response> =>
  fetch(test.url, { method: 'POST', headers, body });

describe('who may call', () => {
  it('is asked for a key everywhere but at cards and health checks', async () => {
    for (const [method, path] of [
      ['POST', '/'],
      ['POST', '/a2a'],
      ['POST', '/agents/echo'],
      ['GET', '/nowhere'],
      ['GET', '/admin/info'],
      ['GET', '/admin/nowhere'],
      ['PUT', '/a2a'],
    ] as const) {
      const response = await fetch(test.url + path, { method });
      expect(response.status, path).toBe(401);
      expect(response.headers.get('www-authenticate')).toBe('Bearer');
      expect(await response.json()).toMatchObject({
        error: path.startsWith('/admin') ? { code: 'unauthenticated' } : { code: -32010 },
      });
    }
    for (const path of [
      '/.well-known/agent-card.json',
      '/agents/echo/.well-known/agent-card.json',
      '/healthz',
      '/readyz',
    ]) {
      expect((await fetch(test.url + path)).status, path).toBe(200);
    }
    expect((await post('{}', { 'content-type': 'application/json', authorization: 'Bearer sl_wrong' })).status).toBe(
      401,
    );
  });

  it('is held to its rate, and told when to come back', async () => {
    const { secret } = await test.keys.create({ name: 'slow', ratePerMinute: 2 }, 'admin');
    const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
    const statuses = [];
    for (let n = 0; n < 3; n += 1) statuses.push((await post('{}', headers)).status);
    expect(statuses).toEqual([200, 200, 429]);
    const refused = await post('{}', headers);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(20);
    expect(await refused.json()).toMatchObject({
      error: { code: -32014, data: [{}, { '@type': 'type.googleapis.com/google.rpc.RetryInfo' }] },
    });
  });

  it('sees only its own tasks', async () => {
    const { secret } = await test.keys.create({ name: 'stranger' }, 'admin');
    const { body } = await test.call('SendMessage', message('mine'));
    const { id } = body.result.task as { id: string };
    const foreign = await test.call('GetTask', { id }, { headers: { authorization: `Bearer ${secret}` } });
    expect(foreign.body.error).toEqual((await test.call('GetTask', { id: 'nobody' })).body.error);
  });
});

describe('where a call comes from', () => {
  const hostStatus = async (host: string, more = '') =>
    Number(
      /^HTTP\/1\.1 (\d+)/.exec(
        await speak(test.url, `GET /healthz HTTP/1.1\r\nHost: ${host}\r\n${more}Connection: close\r\n\r\n`),
      )?.[1],
    );

  it('must be a host that is ours, against DNS rebinding', async () => {
    for (const host of [
      '127.0.0.1:1',
      'localhost',
      'LOCALHOST:80',
      '[::1]:5',
      '127.8.8.8',
      'tasks.example',
      'tasks.example.:443',
    ]) {
      expect(await hostStatus(host), host).toBe(200);
    }
    for (const host of ['evil.example', 'localhost.evil.example', '10.0.0.1', '127.0.0.1.evil.example', '', '[::1']) {
      expect(await hostStatus(host), host).toBe(403);
    }
  });

  it('must be no web page of somebody else', async () => {
    expect(await hostStatus('localhost:1', 'Origin: https://evil.example\r\n')).toBe(403);
    expect(await hostStatus('localhost:1', 'Origin: null\r\n')).toBe(403);
    expect(await hostStatus('localhost:1', 'Origin: http://localhost:1\r\n')).toBe(200);
    expect(await hostStatus('localhost:1', 'Origin: http://localhost:2\r\n')).toBe(403);
    const plain = await fetch(`${test.url}/healthz`);
    expect(plain.headers.get('access-control-allow-origin')).toBeNull();
  });

  it('may be a web page that was allowed, preflight included', async () => {
    const origin = 'https://console.example';
    const allowed = await fetch(`${test.url}/healthz`, { headers: { origin } });
    expect(allowed.headers.get('access-control-allow-origin')).toBe(origin);
    expect(allowed.headers.get('vary')).toBe('Origin');
    const preflight = await fetch(`${test.url}/a2a`, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST' },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-headers')).toContain('authorization');
  });

  it('may be a web page that was allowed in another spelling than browsers have', async () => {
    for (const origin of ['https://written.example', 'app://shell']) {
      const allowed = await fetch(`${test.url}/healthz`, { headers: { origin } });
      expect(allowed.headers.get('access-control-allow-origin'), origin).toBe(origin);
    }
  });
});
