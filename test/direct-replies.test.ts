import { createEchoAgent } from 'sealane';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { type A2aClient, sendParams, type WireMessage, type WireTask } from './support/a2a-client.ts';
import { openService, type TestService } from './support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await openService({
    agents: {
      echo: { connector: createEchoAgent(), default: true },
      sync: { connector: createEchoAgent(), reply: 'message' },
    },
  });
});
afterAll(() => service.close());

const ask = (client: A2aClient, text: string, options: object = {}, configuration: object = {}) =>
  client.call<{ message?: WireMessage; task?: WireTask }>('SendMessage', sendParams(text, options, configuration));

it('a direct reply is a message of the agent in the same context, and belongs to no task', async () => {
  const { message, task } = await ask(service.client, '@message good day', { contextId: 'chat' });
  expect(task).toBeUndefined();
  expect(message).toEqual({ messageId: expect.any(String), role: 'ROLE_AGENT', parts: [{ text: 'good day' }], contextId: 'chat' });
});

it('a direct reply is waited for, even by those who would rather not wait', async () => {
  const { message } = await ask(service.client, '@message at once', {}, { returnImmediately: true });
  expect(message?.parts).toEqual([{ text: 'at once' }]);
});

it('a direct reply is the only event of its stream, and has no number to resume from', async () => {
  const events = await (await service.client.stream('@message good day')).rest();
  expect(events).toHaveLength(1);
  expect(events[0]).toMatchObject({ id: undefined, message: { role: 'ROLE_AGENT', parts: [{ text: 'good day' }] } });
});

it('an agent that replies by message does so to everything', async () => {
  const client = service.client.with({ path: '/agents/sync' });
  const { message } = await ask(client, 'hello');
  expect(message?.parts).toEqual([{ text: 'hello' }]);
  const events = await (await client.stream('hello again')).rest();
  expect(events.map(({ message: said }) => said)).toEqual([expect.objectContaining({ parts: [{ text: 'hello again' }] })]);
});

it('an agent that replies by message and fails answers with the failed task', async () => {
  const { task } = await ask(service.client.with({ path: '/agents/sync' }), '@fail no idea');
  expect(task?.status).toMatchObject({ state: 'TASK_STATE_FAILED', message: { parts: [{ text: 'no idea' }] } });
});

it('the record of a direct reply is kept for the operator, and not listed for anybody', async () => {
  const client = await service.clientOf('quiet');
  await ask(client, '@message kept', { contextId: 'kept' });
  expect((await client.list()).totalSize).toBe(0);
  const exported = await fetch(`${service.url}/admin/export?owner=quiet`, { headers: { authorization: 'Bearer the-admin-key' } });
  expect(exported.headers.get('content-type')).toBe('application/x-ndjson');
  expect(await service.admin.get('/tasks?owner=quiet')).toMatchObject({ total: 0 });
});

it('direct replies of one context come in the order in which they were asked for', async () => {
  const client = service.client.with({ path: '/agents/sync' });
  const order: string[] = [];
  await client.submit('@sleep 300', { contextId: 'line' }).then(() => order.push('slept'));
  await Promise.all(['one', 'two', 'three'].map((text) => ask(client, text, { contextId: 'line' }).then(() => order.push(text))));
  expect(order[0]).toBe('slept');
  expect(order).toHaveLength(4);
});
