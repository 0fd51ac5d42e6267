import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { Admission } from '#store';

import { ADMIN_KEY, message, openTestApp, type TestApp } from '../http-app.fixture.ts';

let test: TestApp;
beforeAll(async () => {
  test = await openTestApp();
});
afterAll(async () => test[Symbol.asyncDispose]());

const ask = async (method: string, path: string, body?: unknown, key = ADMIN_KEY) => {
  const response = await fetch(`${test.url}/admin${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
};

let made = 0;
/** A task that waits in its lane, in the real store. */
const admit = async (more: Partial<Admission> = {}): Promise<string> => {
  made += 1;
  const id = `0198c1f2-0000-7000-8000-${String(made).padStart(12, '0')}`;
  const contextId = more.contextId ?? `context-${made}`;
  const admission: Admission = {
    id,
    contextId,
    owner: 'ann',
    tenant: '',
    agent: 'echo',
    dialect: '1.0',
    session: `echo/${contextId}`,
    direct: false,
    message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }], taskId: id, contextId },
    metadata: {},
    call: {},
    at: Date.now(),
    limits: { laneWaiting: 100, ownerWaiting: 0 },
    ...more,
  };
  const result = await test.storage.tasks.admit(admission);
  expect(result.ok).toBe(true);
  return id;
};
const cancel = async (id: string): Promise<void> => {
  expect((await test.storage.tasks.requestCancel('all', id, 'test', Date.now())).ok).toBe(true);
};

describe('the admin API', () => {
  it("is the operator's alone", async () => {
    const { secret } = await test.keys.create({ name: 'mortal' }, 'admin');
    const { secret: admin } = await test.keys.create({ name: 'deputy', admin: true }, 'admin');
    expect(await ask('GET', '/info', undefined, secret)).toMatchObject({
      status: 403,
      body: { error: { code: 'forbidden', facts: {} } },
    });
    expect(await ask('GET', '/info', undefined, 'sl_unknown')).toMatchObject({
      status: 401,
      body: { error: { code: 'unauthenticated' } },
    });
    expect((await ask('GET', '/info', undefined, admin)).status).toBe(200);
  });

  it('tells about the service', async () => {
    const { body } = await ask('GET', '/info');
    expect(body).toMatchObject({
      version: '9.9.9',
      instance: 'test',
      url: test.url,
      waiting: 0,
      running: 0,
      oldestWaitingSince: null,
    });
    expect(body.agents[0]).toEqual({
      name: 'echo',
      connector: 'echo',
      default: true,
      public: true,
      paused: false,
      concurrency: 4,
      running: 0,
    });
    expect(new Date(body.startedAt as string).getTime()).toBeGreaterThan(0);
    expect((await ask('GET', '/health')).body).toEqual({
      store: 'ok',
      agents: [
        { name: 'echo', ok: true, detail: '' },
        { name: 'private', ok: true, detail: '' },
      ],
    });
  });

  it('shows every task, by page and by filter, with what callers are not told', async () => {
    const ids = [
      await admit({ contextId: 'shown' }),
      await admit({ contextId: 'shown', session: 'echo/shown' }),
      await admit({ contextId: 'other', owner: 'ben' }),
    ];
    const first = await ask('GET', '/tasks?contextId=shown&limit=1');
    expect(first.body.total).toBe(2);
    const second = await ask(
      'GET',
      `/tasks?contextId=shown&limit=1&cursor=${encodeURIComponent(first.body.next as string)}`,
    );
    const seen = [...first.body.tasks, ...second.body.tasks] as { task: { id: string } }[];
    expect(new Set(seen.map(({ task }) => task.id))).toEqual(new Set(ids.slice(0, 2)));
    expect((await ask('GET', '/tasks?owner=ben')).body.tasks).toMatchObject([
      { owner: 'ben', agent: 'echo', lane: 'echo/other', direct: false, lastSeq: 1, task: { id: ids[2] } },
    ]);
    expect((await ask('GET', '/tasks?state=submitted,working&owner=ben')).body.total).toBe(1);
    expect((await ask('GET', '/tasks?state=completed&owner=ben')).body.total).toBe(0);
    for (const query of ['state=lost', 'limit=0', 'limit=201', 'limit=x']) {
      expect(await ask('GET', `/tasks?${query}`)).toMatchObject({
        status: 400,
        body: { error: { code: 'invalid-params' } },
      });
    }
  });

  it('shows one task and its events', async () => {
    const id = await admit();
    expect((await ask('GET', `/tasks/${id}`)).body).toMatchObject({
      task: { id, status: { state: 'TASK_STATE_SUBMITTED' } },
      owner: 'ann',
    });
    const { body } = await ask('GET', `/tasks/${id}/events`);
    expect(body.events).toMatchObject([
      { seq: 1, kind: 'task-admitted', state: 'submitted', message: { messageId: 'm' } },
    ]);
    expect((await ask('GET', `/tasks/${id}/events?after=1`)).body.events).toEqual([]);
    expect(await ask('GET', '/tasks/nobody')).toMatchObject({
      status: 404,
      body: { error: { code: 'task-not-found' } },
    });
    expect((await ask('GET', '/tasks/nobody/events')).status).toBe(404);
  });

  it('cancels and deletes in the name of the owner, and writes it down', async () => {
    const { secret } = await test.keys.create({ name: 'carl' }, 'admin');
    await test.call('SendMessage', message('x'), { headers: { authorization: `Bearer ${secret}` } });
    const fake = [...test.service.tasks.values()].find(({ owner }) => owner === 'carl');
    const id = await admit({ owner: 'carl' });
    // The service of this test keeps its own tasks: give it this one.
    if (fake) test.service.tasks.set(id, { ...fake, id });
    expect(await ask('POST', `/tasks/${id}/cancel`)).toMatchObject({
      status: 200,
      body: { task: { id, status: { state: 'TASK_STATE_CANCELED' } }, owner: 'carl' },
    });
    expect((await ask('DELETE', `/tasks/${id}`)).status).toBe(204);
    const { body } = await ask('GET', `/audit?subject=${id}`);
    expect((body.events as { kind: string; actor: string }[]).map(({ kind, actor }) => `${kind} ${actor}`)).toEqual([
      'task-deleted admin',
      'task-canceled admin',
    ]);
    expect((await ask('POST', '/tasks/nobody/cancel')).status).toBe(404);
  });

  it('exports tasks with their events, a line each', async () => {
    const words = { messageId: 'lines', role: 'ROLE_USER', parts: [{ text: 'one\u2028two\u0085three' }] } as const;
    const ids = [
      await admit({ contextId: 'exported' }),
      await admit({ contextId: 'exported', session: 'echo/exported', message: words }),
    ];
    await cancel(ids[0] ?? '');
    const response = await fetch(`${test.url}/admin/export?contextId=exported`, {
      headers: { authorization: `Bearer ${ADMIN_KEY}` },
    });
    expect(response.headers.get('content-type')).toBe('application/x-ndjson');
    const lines = (await response.text())
      .trimEnd()
      .split(/[\n\u0085\u2028]/)
      .map(
        (line) => JSON.parse(line) as { task: { task: { id: string }; lastSeq: number }; events: { seq: number }[] },
      );
    expect(lines.map(({ task }) => task.task.id)).toEqual(ids);
    for (const { task, events } of lines)
      expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: task.lastSeq }, (_, n) => n + 1));
    const all = await fetch(`${test.url}/admin/export`, { headers: { authorization: `Bearer ${ADMIN_KEY}` } });
    expect((await all.text()).trimEnd().split('\n')).toHaveLength(made);
    expect((await ask('GET', '/audit?kind=export')).body.events).toMatchObject([
      { actor: 'admin', subject: 'store', facts: {} },
      { actor: 'admin', subject: 'exported', facts: { contextId: 'exported' } },
    ]);
  });

  it('purges what has ended of an owner or a context, and nothing without being told what', async () => {
    await cancel(await admit({ contextId: 'purged' }));
    await admit({ contextId: 'purged' });
    expect((await ask('POST', '/purge', { contextId: 'purged' })).body).toEqual({ removed: 1 });
    expect(await ask('POST', '/purge', {})).toMatchObject({ status: 400, body: { error: { code: 'invalid-params' } } });
    expect(await ask('POST', '/purge', '{')).toMatchObject({ status: 400, body: { error: { code: 'parse-error' } } });
    expect((await ask('GET', '/audit?kind=purge')).body.events).toMatchObject([
      { actor: 'admin', facts: { contextId: 'purged', removed: 1 } },
    ]);
  });

  it('lists, pauses and resumes lanes and agents', async () => {
    await admit({ contextId: 'lane', session: 'echo/a lane' });
    const { body } = await ask('GET', '/lanes?agent=echo&limit=1000');
    const lane = (body.lanes as { key: string }[]).find(({ key }) => key === 'echo/a lane');
    expect(lane).toMatchObject({
      agent: 'echo',
      owner: 'ann',
      waiting: 1,
      running: null,
      paused: false,
      since: expect.stringMatching(/Z$/) as string,
    });
    expect((await ask('POST', '/lanes/pause', { lane: 'echo/a lane' })).body).toEqual({ paused: true });
    expect((await ask('POST', '/lanes/pause', { agent: 'echo' })).body).toEqual({ paused: true });
    expect((await ask('GET', '/lanes')).body.pausedAgents).toEqual(['echo']);
    expect((await ask('GET', '/info')).body.agents[0].paused).toBe(true);
    expect((await ask('POST', '/lanes/resume', { agent: 'echo' })).body).toEqual({ paused: false });
    expect((await ask('POST', '/lanes/resume', { lane: 'echo/a lane' })).body).toEqual({ paused: false });
    expect((await ask('POST', '/lanes/pause', { lane: 'nowhere' })).status).toBe(404);
    expect((await ask('POST', '/lanes/pause', { agent: 'nobody' })).status).toBe(404);
    expect((await ask('POST', '/lanes/pause', { agent: 'echo', lane: 'x' })).status).toBe(400);
  });

  it('makes keys that are shown once, lists them without secrets, and revokes them', async () => {
    const created = await ask('POST', '/keys', {
      name: 'dora',
      agents: ['echo'],
      permission: 'guarded',
      ratePerMinute: 100,
      expiresInMs: 60_000,
    });
    expect(created.status).toBe(201);
    const { id, key } = created.body as { id: string; key: string };
    expect((await test.call('ListTasks', {}, { headers: { authorization: `Bearer ${key}` } })).status).toBe(200);
    const { body } = await ask('GET', '/keys');
    const listed = (body.keys as { id: string }[]).find((view) => view.id === id);
    expect(listed).toEqual({
      id,
      name: 'dora',
      owner: 'dora',
      admin: false,
      agents: ['echo'],
      permission: 'guarded',
      ratePerMinute: 100,
      createdAt: expect.stringMatching(/Z$/) as string,
      expiresAt: expect.stringMatching(/Z$/) as string,
      revokedAt: null,
    });
    expect((await ask('POST', '/keys', { name: 'dora' })).status).toBe(409);
    for (const bad of [
      {},
      { name: 'x', permission: 'god' },
      { name: 'x', agents: ['nobody'] },
      { name: 'x', ratePerMinute: 0 },
      { name: 'x', admin: 'yes' },
      { name: 'x', agents: [] },
      // A limit that is misspelt must not make a key without limits.
      { name: 'x', agent: ['echo'] },
      { name: 'x', expiresIn: 1000 },
    ]) {
      expect([400, 404]).toContain((await ask('POST', '/keys', bad)).status);
    }
    expect((await ask('DELETE', '/keys/dora')).status).toBe(204);
    expect((await test.call('ListTasks', {}, { headers: { authorization: `Bearer ${key}` } })).status).toBe(401);
    expect((await ask('DELETE', '/keys/dora')).status).toBe(404);
  });

  it('sends a copy of the store that opens as one', async () => {
    const response = await fetch(`${test.url}/admin/backup`, { headers: { authorization: `Bearer ${ADMIN_KEY}` } });
    expect(response.headers.get('content-type')).toBe('application/octet-stream');
    const file = join(tmpdir(), `sealane-backup-test-${process.pid}.db`);
    await writeFile(file, Buffer.from(await response.arrayBuffer()));
    const database = new DatabaseSync(file, { readOnly: true });
    expect(database.prepare('select count(*) as n from tasks').get()).toMatchObject({
      n: expect.any(Number) as number,
    });
    database.close();
    await rm(file);
  });

  it('says where a copy cannot be made, and what to do', async () => {
    await using homeless = await openTestApp({ scratchDir: '/nowhere/at/all' });
    const response = await fetch(`${homeless.url}/admin/backup`, { headers: { authorization: `Bearer ${ADMIN_KEY}` } });
    expect(response.status).toBe(503);
    expect(await response.text()).toMatch(/cannot be made in \/nowhere\/at\/all .*TMPDIR/);
  });
});
