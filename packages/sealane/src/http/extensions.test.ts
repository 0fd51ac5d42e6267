import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type Extension, TASK_LOG } from '#protocol';
import { NOTES } from '#protocol/extensions/notes.fixture';

import { ADMIN_KEY, message, openTestApp, type TestApp } from './http-app.fixture.ts';

const URI = NOTES.declaration.uri;

let test: TestApp;
beforeAll(async () => {
  test = await openTestApp({}, { extensions: [TASK_LOG, NOTES] });
});
afterAll(async () => test[Symbol.asyncDispose]());

const get = async (path: string, headers: Record<string, string> = {}, verb = 'GET') => {
  const response = await fetch(test.url + path, {
    method: verb,
    headers: { authorization: `Bearer ${ADMIN_KEY}`, ...headers },
  });
  // oxlint-disable-next-line typescript/no-explicit-any
  return { status: response.status, headers: response.headers, body: (await response.json()) as any };
};

describe('a registered extension', () => {
  it('answers over JSON-RPC, in every version and in none', async () => {
    for (const version of ['1.0', '0.3', '0.2', '0.1', undefined]) {
      const headers = version === undefined ? {} : { 'a2a-version': version };
      for (const [path, agent] of [['/a2a'], ['/agents/echo', 'echo']] as const) {
        const { body } = await test.call('notes/read', { id: 'n1' }, { headers, path });
        expect(body.result).toEqual({ id: 'n1', ...(agent && { agent }), activated: [] });
      }
    }
    expect(test.metrics.calls.at(-1)).toBe('notes/read ok');
  });

  it('answers at its address of REST, under every base and for a tenant', async () => {
    for (const [base, more] of [
      ['', {}],
      ['/a2a', {}],
      ['/agents/echo', { agent: 'echo' }],
      ['/acme', { tenant: 'acme' }],
    ] as const) {
      const { status, body } = await get(`${base}/notes/n%2F1?page=2`);
      expect({ status, body }).toEqual({ status: 200, body: { id: 'n/1', page: 2, activated: [], ...more } });
    }
    expect((await get('/notes/n1', { 'a2a-version': '0.3' })).body.error.details[0].reason).toBe(
      'VERSION_NOT_SUPPORTED',
    );
    expect((await get('/v1/notes/n1')).status).toBe(404);
    expect((await get('/notes/n1', {}, 'DELETE')).headers.get('allow')).toBe('GET');
  });

  it('keeps its words for itself: no tenant has them, and what is wrong there is said in the form of REST', async () => {
    expect((await get('/notes/tasks')).body).toMatchObject({ id: 'tasks' });
    for (const path of ['/notes/tasks/t1', '/notes/a/b']) {
      const { status, headers, body } = await get(path);
      expect({ status, type: headers.get('content-type') }).toEqual({ status: 404, type: 'application/a2a+json' });
      expect(body.error.details[0]).toMatchObject({ reason: 'NOT_FOUND' });
    }
  });

  it('is declared on the cards of every version, the public and the extended ones', async () => {
    const { secret } = await test.keys.create({ name: 'private-only', agents: ['private'] }, 'admin');
    const authorization = `Bearer ${secret}`;
    const card = '/.well-known/agent-card.json';
    const cards = [
      await get(card),
      await get(card, { 'a2a-version': '1.0' }),
      await get(card, { 'a2a-version': '0.3' }),
      await get('/.well-known/agent.json'),
      await get('/agents/private/.well-known/agent-card.json'),
      await get('/extendedAgentCard'),
      await get('/agent/authenticatedExtendedCard'),
      await get('/v1/card'),
      // The key may not use the default agent, so this card is a directory of the other agents.
      await get('/extendedAgentCard', { authorization }),
    ];
    for (const { status, body } of cards) {
      expect({ status, extensions: body.capabilities.extensions }).toEqual({
        status: 200,
        extensions: [TASK_LOG.declaration, NOTES.declaration],
      });
    }
  });

  it('is active when a caller names it, under either name of the header, and the answer says so', async () => {
    for (const header of ['a2a-extensions', 'x-a2a-extensions']) {
      const headers = { [header]: `urn:unknown, ${URI}` };
      const called = await test.call('notes/read', { id: 'n1' }, { headers });
      expect([called.body.result.activated, called.headers.get(header)]).toEqual([[URI], URI]);
      expect((await get('/notes/n1', headers)).body.activated).toEqual([URI]);
    }
    const { headers } = await get('/notes/n1', { 'a2a-extensions': `${URI},${TASK_LOG.declaration.uri}` });
    expect(headers.get('a2a-extensions')).toBe(`${TASK_LOG.declaration.uri}, ${URI}`);
  });

  it('is none of the agent’s business: the agent is not told that a caller has named it', async () => {
    const { headers } = await test.call('SendMessage', message('hi'), { headers: { 'a2a-extensions': URI } });
    expect(headers.get('a2a-extensions')).toBe(URI);
    expect(test.service.sent.at(-1)?.request).not.toHaveProperty('extensions');
  });
});

it('an extension that is required refuses callers that do not name it, over JSON-RPC and REST', async () => {
  const required: Extension = { ...NOTES, declaration: { ...NOTES.declaration, required: true } };
  await using strict = await openTestApp({}, { extensions: [required] });
  const headers = { authorization: `Bearer ${ADMIN_KEY}` };
  const named = { 'a2a-extensions': URI };
  for (const method of ['notes/read', 'ListTasks']) {
    expect((await strict.call(method, {})).body.error).toMatchObject({ code: -32008 });
    expect((await strict.call(method, {}, { headers: named })).body).toHaveProperty('result');
  }
  expect((await fetch(`${strict.url}/notes/n1`, { headers })).status).toBe(400);
  expect((await fetch(`${strict.url}/notes/n1`, { headers: { ...headers, ...named } })).status).toBe(200);
  expect((await strict.call('tasks/events', { id: 't' }, { headers: named })).body.error).toMatchObject({
    code: -32601,
  });
});
