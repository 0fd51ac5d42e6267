import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { ADMIN_KEY, message, openTestApp, speak, type TestApp } from '../http-app.fixture.ts';

let test: TestApp;
beforeAll(async () => {
  test = await openTestApp();
});
afterAll(async () => test[Symbol.asyncDispose]());

const EXTENSION = 'https://sealane.dev/extensions/task-log/v1';

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any;
}
const ask = async (
  verb: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> => {
  const response = await fetch(test.url + path, {
    method: verb,
    headers: {
      authorization: `Bearer ${ADMIN_KEY}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = text !== '' && response.headers.get('content-type')?.includes('json');
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined };
};
const send = async (path = '/message:send'): Promise<{ readonly id: string }> =>
  (await ask('POST', path, message('hello'))).body.task as { readonly id: string };

/** Checks that an error has the form of A2A 1.0, and answers its reason. */
const reasonOf = ({ status, headers, body }: Answer): string => {
  expect(headers.get('content-type')).toBe('application/a2a+json');
  const { error } = body as { error: { code: number; details: readonly { '@type': string; reason: string }[] } };
  expect(error).toMatchObject({
    code: status,
    status: expect.stringMatching(/^[A-Z_]+$/),
    message: expect.any(String),
  });
  expect(error.details[0]?.['@type']).toBe('type.googleapis.com/google.rpc.ErrorInfo');
  return error.details[0]!.reason;
};

describe('a call over REST', () => {
  it('takes both media types, a charset, and no version or its own, and answers in its media type', async () => {
    for (const [query, headers] of [
      ['', { 'content-type': 'application/a2a+json' }],
      ['', { 'content-type': 'application/json; charset=utf-8' }],
      ['', { 'a2a-version': '1.0.1' }],
      ['?A2A-Version=1.0', {}],
    ] as const) {
      const answer = await ask('POST', `/message:send${query}`, message('x'), headers);
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/a2a+json']);
    }
  });

  it('of another version is refused', async () => {
    for (const [path, headers] of [
      ['/tasks', { 'a2a-version': '0.3' }],
      ['/tasks?A2A-Version=2.0', {}],
      ['/tasks', { 'a2a-version': 'latest' }],
    ] as const) {
      expect(reasonOf(await ask('GET', path, undefined, headers))).toBe('VERSION_NOT_SUPPORTED');
    }
    const old = await ask('GET', '/v1/tasks', undefined, { 'a2a-version': '1.0' });
    expect([old.status, old.body.code]).toEqual([400, -32009]);
  });

  it('names its agent and its tenant by the address, and its headers count', async () => {
    await ask('POST', '/agents/private/acme/message:send', message('x'), { 'idempotency-key': 'k' });
    expect(test.service.sent.at(-1)).toMatchObject({
      caller: { tenant: 'acme', agent: 'private' },
      request: { agent: 'private', idempotencyKey: 'k' },
    });
  });

  it('must say the same in its address and its body', async () => {
    const { id } = await send();
    const url = 'https://example.com/hook';
    for (const [path, body, field] of [
      [`/tasks/${id}:cancel`, { id: 'another' }, 'id'],
      [`/tasks/${id}/pushNotificationConfigs`, { taskId: 'another', url }, 'taskId'],
      [`/tasks/${id}/pushNotificationConfigs`, { task_id: 'another', url }, 'taskId'],
      ['/acme/message:send', { ...message('x'), tenant: 'another' }, 'tenant'],
    ] as const) {
      const answer = await ask('POST', path, body);
      expect(reasonOf(answer)).toBe('INVALID_PARAMS');
      expect(answer.body.error.details[0].metadata).toEqual({ field });
    }
    expect((await ask('GET', '/acme/tasks?tenant=another')).status).toBe(400);
    const same = { id: 'c', task_id: id, taskId: '', url, tenant: '' };
    expect((await ask('POST', `/tasks/${id}/pushNotificationConfigs`, same)).status).toBe(200);
    expect((await ask('POST', `/tasks/${id}:cancel`, { id })).status).toBe(200);
  });

  it('that needs no body comes without, with an empty one, and with null', async () => {
    for (const body of [undefined, '', '{}', 'null', ' null\n', { metadata: { why: 'enough' } }]) {
      const { id } = await send();
      expect((await ask('POST', `/tasks/${id}:cancel`, body)).body.status.state).toBe('TASK_STATE_CANCELED');
    }
    expect(reasonOf(await ask('POST', '/message:send', 'null'))).toBe('INVALID_PARAMS');
    expect(reasonOf(await ask('POST', '/message:send', ''))).toBe('PARSE_ERROR');
    expect(reasonOf(await ask('POST', '/message:send', '[]'))).toBe('INVALID_PARAMS');
  });

  it('reads its query by both spellings, strictly, and ignores what it does not know', async () => {
    await send();
    for (const query of ['pageSize=1', 'page_size=1', 'pageSize=1&x=1&x=2&includeArtifacts=true&status=completed']) {
      expect((await ask('GET', `/tasks?${query}`)).body).toMatchObject({ pageSize: 1 });
    }
    for (const query of [
      'pageSize=',
      'pageSize=1.5',
      'pageSize=1e1',
      'pageSize=0x10',
      'pageSize=1&pageSize=1',
      'pageSize=1&page_size=1',
      'includeArtifacts=1',
      'includeArtifacts=TRUE',
      'status=busy',
      'status=constructor',
      'historyLength=-1',
      'contextId=%00',
    ]) {
      expect(reasonOf(await ask('GET', `/tasks?${query}`)), query).toBe('INVALID_PARAMS');
    }
  });

  it('reads and deletes a log', async () => {
    const { id } = await send();
    expect((await ask('GET', `/tasks/${id}/events?after=1&limit=5`)).body).toEqual({ events: [], lastSeq: 3 });
    const gone = await ask('DELETE', `/tasks/${id}`);
    expect([gone.status, gone.body]).toEqual([200, {}]);
    expect(reasonOf(await ask('GET', `/tasks/${id}`))).toBe('TASK_NOT_FOUND');
  });

  it('names the extensions in use on every answer: results, refusals and streams', async () => {
    const asked = { 'a2a-extensions': `https://nobody.example, ${EXTENSION}` };
    for (const answer of [
      await ask('GET', '/tasks', undefined, asked),
      await ask('GET', '/tasks/nobody', undefined, asked),
      await ask('POST', '/message:stream', message('x'), asked),
    ]) {
      expect(answer.headers.get('a2a-extensions')).toBe(EXTENSION);
    }
    const old = await ask('GET', '/v1/tasks', undefined, { 'x-a2a-extensions': EXTENSION });
    expect(old.headers.get('x-a2a-extensions')).toBe(EXTENSION);
  });

  it('is counted by method and outcome', async () => {
    await ask('GET', '/tasks/nobody');
    expect(test.metrics.calls.at(-1)).toBe('GetTask task-not-found');
    await ask('GET', '/v1/tasks');
    expect(test.metrics.calls.at(-1)).toBe('tasks/list ok');
  });
});

describe('a stream over REST', () => {
  it('is bare and numbered, and resumes', async () => {
    const { headers, text } = await ask('POST', '/message:stream', message('hello'));
    expect(headers.get('content-type')).toBe('text/event-stream');
    expect([...text.matchAll(/^id: (\d+)\ndata: \{"(\w+)":/gm)].map(([, id, kind]) => [id, kind])).toEqual([
      ['1', 'task'],
      ['2', 'statusUpdate'],
      ['3', 'artifactUpdate'],
      ['4', 'statusUpdate'],
    ]);
    const { id } = await send();
    for (const verb of ['GET', 'POST']) {
      const resumed = await ask(verb, `/tasks/${id}:subscribe`, undefined, { 'last-event-id': '2' });
      expect(resumed.text).toMatch(/^id: 3\n/);
    }
  });

  it('that cannot begin is a plain refusal', async () => {
    const full = await ask('POST', '/message:stream', message('full'));
    expect([full.status, reasonOf(full), full.headers.get('retry-after')]).toEqual([429, 'LANE_FULL', '2']);
    const { id } = await send();
    expect(reasonOf(await ask('POST', `/tasks/${id}:subscribe`))).toBe('UNSUPPORTED_OPERATION');
  });

  it('that breaks says so in its last event, which is an error, and tells no secrets', async () => {
    const { text } = await ask('POST', '/message:stream', message('tear'));
    const [, data = ''] = /\n\nevent: error\ndata: (.*)\n\n$/.exec(text) ?? [];
    expect(JSON.parse(data)).toMatchObject({ error: { code: 500, status: 'INTERNAL', details: [{}] } });
    expect(text).not.toContain('secret');
    const old = await ask('POST', '/v1/message:stream', {
      message: { messageId: 'm', role: 'ROLE_USER', content: [{ text: 'tear' }] },
    });
    expect(old.text).toMatch(/\n\nevent: error\ndata: \{"code":-32603,.*"error":"InternalError"\}\n\n$/);
  });
});

describe('a refusal over REST', () => {
  it('has the form and the status that callers expect, whoever refuses', async () => {
    const { secret } = await test.keys.create({ name: 'slow', ratePerMinute: 1 }, 'admin');
    const slow = { authorization: `Bearer ${secret}` };
    await ask('GET', '/tasks', undefined, slow);
    const limited = await ask('GET', '/tasks', undefined, slow);
    expect([limited.status, reasonOf(limited)]).toEqual([429, 'RATE_LIMITED']);
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0);
    const stranger = await ask('GET', '/tasks', undefined, { authorization: 'Bearer nobody' });
    expect([stranger.status, reasonOf(stranger)]).toEqual([401, 'UNAUTHENTICATED']);
    expect(stranger.headers.get('www-authenticate')).toBe('Bearer');
    const page = await ask('GET', '/tasks', undefined, { origin: 'https://evil.example' });
    expect([page.status, reasonOf(page)]).toEqual([403, 'FORBIDDEN']);
    const large = await ask('POST', '/message:send', `"${'x'.repeat(1024 * 1024)}"`);
    expect([large.status, reasonOf(large)]).toEqual([413, 'TOO_LARGE']);
    const typed = await ask('POST', '/message:send', '{}', { 'content-type': 'text/plain' });
    expect([typed.status, reasonOf(typed)]).toEqual([400, 'CONTENT_TYPE_NOT_SUPPORTED']);
    const nobody = await ask('POST', '/agents/nobody/message:send', message('x'));
    expect([nobody.status, reasonOf(nobody)]).toEqual([404, 'AGENT_NOT_FOUND']);
    const bug = await ask('POST', '/message:send', message('break'));
    expect([bug.status, reasonOf(bug)]).toEqual([500, 'INTERNAL']);
    expect(bug.text).not.toMatch(/secret|\.ts/);
  });

  it('of a verb says which there are', async () => {
    for (const [verb, path, allow] of [
      ['GET', '/message:send', 'POST'],
      ['PUT', '/tasks', 'GET'],
      ['POST', '/tasks/x', 'GET, DELETE'],
      ['GET', '/tasks/x:cancel', 'POST'],
      ['DELETE', '/tasks/x:subscribe', 'GET, POST'],
      ['PATCH', '/agents/echo/acme/tasks/x/pushNotificationConfigs', 'POST, GET'],
      ['OPTIONS', '/extendedAgentCard', 'GET'],
    ] as const) {
      const answer = await ask(verb, path);
      expect([answer.status, answer.headers.get('allow')], `${verb} ${path}`).toEqual([405, allow]);
      expect(reasonOf(answer)).toBe('INVALID_REQUEST');
    }
    expect((await ask('HEAD', '/tasks')).status).toBe(405);
    const old = await ask('GET', '/v1/message:send');
    expect([old.status, old.headers.get('allow'), old.body.code]).toEqual([405, 'POST', -32600]);
  });

  it.each([
    ['half an escape', '/tasks/%zz', 400],
    ['no UTF-8', '/tasks/%ff', 400],
    ['NUL for an id', '/tasks/%00', 400],
    ['NUL for a tenant', '/%00/tasks', 400],
    ['a tenant that is too long', `/${'t'.repeat(129)}/tasks`, 400],
    ['an id that is too long', `/tasks/${'x'.repeat(129)}`, 400],
    ['an id that is much too long', `/tasks/${'x'.repeat(10_000)}`, 400],
    ['a query that is too long', `/tasks?contextId=${'x'.repeat(10_000)}`, 400],
    ['an action on nothing', '/tasks/:cancel', 405],
    ['a thing that tasks do not have', '/tasks/x/nothing', 404],
    ['a thing below a webhook', '/tasks/x/pushNotificationConfigs/y/z', 404],
    ['two tenants', '/one/two/tasks', 404],
  ])('of an address with %s is JSON in the same form', async (_name, path, status) => {
    const answer = await ask('GET', path);
    expect(answer.status).toBe(status);
    reasonOf(answer);
  });

  it('of 0.3 has a code, a message and a name', async () => {
    for (const [verb, path, status, code, name] of [
      ['GET', '/v1/tasks/nobody', 404, -32001, 'TaskNotFoundError'],
      ['GET', '/v1/tasks/%00', 400, -32602, 'InvalidParamsError'],
      ['GET', '/v1/tasks/%zz', 400, -32600, 'InvalidRequestError'],
      ['GET', '/v1/nothing', 404, -32021, undefined],
      ['POST', '/v1/message:send', 400, -32700, 'JSONParseError'],
    ] as const) {
      const answer = await ask(verb, path);
      expect([answer.status, answer.headers.get('content-type')], path).toEqual([status, 'application/json']);
      expect(answer.body).toMatchObject({ code, message: expect.any(String) as string });
      expect(answer.body.error).toBe(name);
    }
    const stranger = await ask('GET', '/v1/tasks', undefined, { authorization: 'Bearer nobody' });
    expect([stranger.status, stranger.body.code]).toEqual([401, -32010]);
  });
});

it('a call that waits when the service closes is told when to come back', async () => {
  const closed = await openTestApp();
  const waiting = fetch(`${closed.url}/message:send`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify(message('hang')),
  });
  await expect.poll(() => closed.service.sent.length).toBe(1);
  await closed[Symbol.asyncDispose]();
  const response = await waiting;
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await response.json()).toMatchObject({ error: { code: 503, status: 'UNAVAILABLE' } });
});

it('a body on a GET is not read, and the next request on the connection is its own', async () => {
  const head = `Host: localhost\r\nAuthorization: Bearer ${ADMIN_KEY}\r\n`;
  const answer = await speak(
    test.url,
    `GET /tasks/nobody HTTP/1.1\r\n${head}Content-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello` +
      `GET /tasks HTTP/1.1\r\n${head}Connection: close\r\n\r\n`,
  );
  expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 404', 'HTTP/1.1 200']);
});
