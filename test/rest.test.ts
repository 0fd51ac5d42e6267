import { randomUUID } from 'node:crypto';

import type { Task } from '@a2a-js/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { ADMIN_KEY, openService, type TestService } from './support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service.close());

const ask = (verb: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(service.url + path, {
    method: verb,
    headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/a2a+json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });

describe('REST', () => {
  it('resumes a stream by the number of the last event, on GET and POST', async () => {
    const stream = await ask('POST', '/message:stream', {
      message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: '@stream 5 1' }] },
    });
    const frames = (await stream.text()).split('\n\n').filter((frame) => frame !== '');
    const { id } = (JSON.parse(/data: (.*)/.exec(frames[0]!)![1]!) as { task: Task }).task;
    const [, seen] = /^id: (\d+)/.exec(frames[2]!)!;
    for (const verb of ['GET', 'POST']) {
      const resumed = await ask(verb, `/tasks/${id}:subscribe`, undefined, { 'last-event-id': seen! });
      expect((await resumed.text()).split('\n\n').filter((frame) => frame !== '')).toEqual(frames.slice(3));
    }
  });

  it('reads a task that was sent by JSON-RPC, the same to the letter, and its log, and deletes it', async () => {
    const task = await service.client.send('both ways');
    expect(await (await ask('GET', `/tasks/${task.id}`)).json()).toEqual(task);
    expect(await (await ask('GET', `/agents/echo/tasks/${task.id}/`)).json()).toEqual(task);
    const log = (await (await ask('GET', `/tasks/${task.id}/events?after=1&limit=1`)).json()) as {
      events: readonly { seq: number }[];
    };
    expect(log.events.map(({ seq }) => seq)).toEqual([2]);
    expect(await (await ask('DELETE', `/tasks/${task.id}`)).json()).toEqual({});
    expect((await ask('GET', `/tasks/${task.id}`)).status).toBe(404);
  });

  it('answers a repeated send with the first task', async () => {
    const body = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'once' }] } };
    const headers = { 'idempotency-key': randomUUID() };
    const ids = await Promise.all(
      [1, 2].map(async () => {
        const { task } = (await (await ask('POST', '/message:send', body, headers)).json()) as { task: Task };
        return task.id;
      }),
    );
    expect(ids[0]).toBe(ids[1]);
    const other = { message: { ...body.message, parts: [{ text: 'twice' }] } };
    expect((await ask('POST', '/message:send', other, headers)).status).toBe(409);
  });

  it('does not answer a send in one tenant with the task of another, under the same key', async () => {
    const body = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'to each' }] } };
    const headers = { 'idempotency-key': randomUUID() };
    const first = (await (await ask('POST', '/tenant-1/message:send', body, headers)).json()) as { task: Task };
    const again = (await (await ask('POST', '/tenant-1/message:send', body, headers)).json()) as { task: Task };
    expect(again.task.id).toBe(first.task.id);
    // However a tenant is named, it is the same work.
    const named = await ask('POST', '/message:send', { ...body, tenant: 'tenant-1' }, headers);
    expect(((await named.json()) as { task: Task }).task.id).toBe(first.task.id);
    for (const path of ['/tenant-2/message:send', '/message:send']) {
      expect((await ask('POST', path, body, headers)).status).toBe(409);
    }
  });

  it("keeps an agent's required extension", async () => {
    const uri = 'urn:example:required';
    const { createEchoAgent } = await import('sealane');
    const extensions = [{ uri, description: 'Nobody may call without it.', required: true }];
    await using strict = await openService({
      agents: { echo: { connector: createEchoAgent(), default: true, public: true, extensions } },
    });
    const get = (headers: Record<string, string>): Promise<Response> =>
      fetch(`${strict.url}/tasks`, { headers: { authorization: `Bearer ${ADMIN_KEY}`, ...headers } });
    const refused = await get({});
    expect([refused.status, await refused.text()]).toEqual([
      400,
      expect.stringContaining('EXTENSION_SUPPORT_REQUIRED'),
    ]);
    const taken = await get({ 'a2a-extensions': uri });
    expect([taken.status, taken.headers.get('a2a-extensions')]).toEqual([200, uri]);
  });
});
