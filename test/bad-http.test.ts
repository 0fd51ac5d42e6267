import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { openService, type TestService } from './support/service.ts';
import { type RawAnswer, talkRaw } from './support/raw-http.ts';

let service: TestService;
beforeAll(async () => {
  service = await openService({ http: { bodyLimitBytes: 100_000 } });
});
afterAll(() => service.close());

afterEach(async () => {
  expect((await service.client.send('still there?')).status.state).toBe('TASK_STATE_COMPLETED');
});

const BODY = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ListTasks', params: {} });
const request = (headers: readonly string[], { line = 'POST /a2a HTTP/1.1', body = BODY } = {}): string => {
  const { host } = new URL(service.url);
  const all = [
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Authorization: Bearer the-admin-key',
    ...headers,
  ];
  const named = all.some((header) => /^host:/i.test(header)) ? all : [`Host: ${host}`, ...all];
  return `${line}\r\n${named.join('\r\n')}\r\n\r\n${body}`;
};

const expectJsonError = ({ status, body }: RawAnswer, expected: number): void => {
  expect([status, body]).toEqual([expected, expect.stringContaining('"error"')]);
  expect(JSON.parse(body)).toMatchObject({ error: { message: expect.stringMatching(/.{10}/) } });
  expect(body).not.toMatch(/<html|\bat .*\.(ts|js):\d+/i);
};

describe('a caller from elsewhere is refused', () => {
  it.each([
    'evil.example',
    'evil.example:7420',
    'localhost.evil.example',
    '127.0.0.1.nip.io',
    '10.0.0.1',
    '[::2]',
    'a'.repeat(500),
  ])('by a Host header of "%s"', async (host) => {
    const answer = await talkRaw(service.url, request([`Host: ${host}`]));
    expectJsonError(answer, 403);
  });

  it.each(['https://evil.example', 'http://127.0.0.1:1', 'null', 'file://', 'nonsense', 'https://127.0.0.1'])(
    'by an Origin header of "%s"',
    async (origin) => {
      const answer = await talkRaw(service.url, request([`Origin: ${origin}`]));
      expectJsonError(answer, 403);
      expect(answer.text).not.toMatch(/access-control-allow/i);
    },
  );

  it('also when it only asks whether it might call', async () => {
    const answer = await talkRaw(
      service.url,
      request(['Origin: https://evil.example', 'Access-Control-Request-Method: POST'], {
        line: 'OPTIONS /a2a HTTP/1.1',
        body: '',
      }),
    );
    expectJsonError(answer, 403);
  });

  it('and one from here is not', async () => {
    for (const host of ['localhost', '127.0.0.1:9', '[::1]:80', 'LOCALHOST']) {
      expect((await talkRaw(service.url, request([`Host: ${host}`]))).status).toBe(200);
    }
  });
});

describe('an address or a method that is not there is answered in JSON', () => {
  it.each(['/', '/a2a', '/a2a/v1', '/agents/echo'])('GET %s says what to use instead', async (path) => {
    const response = await fetch(service.url + path, { headers: { authorization: 'Bearer the-admin-key' } });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('POST');
    expect(await response.json()).toMatchObject({ error: { code: -32600 } });
  });

  it.each([
    '/nothing',
    '/a2a/v2',
    '/agents',
    '/agents/echo/extra',
    '/admin/nothing',
    '/%00',
    '/..%2f..%2fetc/passwd',
    '/admin/tasks/%ff',
    `/${'x'.repeat(2000)}`,
  ])('%s', async (path) => {
    const answer = await talkRaw(service.url, request([], { line: `GET ${path} HTTP/1.1`, body: '' }));
    expect([400, 404]).toContain(answer.status);
    expectJsonError(answer, answer.status!);
  });

  it.each(['PUT', 'DELETE', 'PATCH', 'TRACE', 'PROPFIND'])('%s on the endpoint', async (method) => {
    const answer = await talkRaw(service.url, request([], { line: `${method} /a2a HTTP/1.1`, body: '' }));
    expect([400, 404, 405]).toContain(answer.status);
    expectJsonError(answer, answer.status!);
  });
});

describe('bytes that are no HTTP are answered and cut off', () => {
  it.each<[string, string | Buffer]>([
    ['words', 'hello there\r\n\r\n'],
    ['a TLS greeting', Buffer.from('16030100c8010000c40303', 'hex')],
    ['noise', Buffer.from(Array.from({ length: 500 }, (_, index) => (index * 7919) % 256))],
    ['a length that is none', 'POST /a2a HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: many\r\n\r\n'],
    ['two lengths', 'POST /a2a HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n12'],
    [
      'a length and chunks',
      'POST /a2a HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a chunk that is none', 'POST /a2a HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'],
    ['a header without a name', 'GET / HTTP/1.1\r\n: x\r\n\r\n'],
    ['a version from nowhere', 'GET / HTTP/9.9\r\n\r\n'],
  ])('%s', async (_what, bytes) => {
    const answer = await talkRaw(service.url, bytes);
    expect(answer.status === undefined || (answer.status >= 400 && answer.status < 500)).toBe(true);
    if (answer.status !== undefined) expectJsonError(answer, answer.status);
  });

  it('headers without end', async () => {
    const answer = await talkRaw(service.url, request([`X-Long: ${'x'.repeat(100_000)}`]));
    expectJsonError(answer, 431);
  });

  it('a body that ends too early', async () => {
    const whole = request([]);
    const answer = await talkRaw(service.url, whole.slice(0, -5), { endsAfter: true });
    expect(answer.status === undefined || answer.status === 400).toBe(true);
  });

  it('a body that claims to be larger than anything', async () => {
    const answer = await talkRaw(
      service.url,
      `POST /a2a HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer the-admin-key\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n{`,
    );
    expectJsonError(answer, 413);
  });

  it('a compressed body', async () => {
    expectJsonError(await talkRaw(service.url, request(['Content-Encoding: gzip'])), 415);
  });
});
