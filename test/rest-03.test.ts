import { randomUUID } from 'node:crypto';

import type { Message, MessageSendParams, Task } from 'a2a-sdk-0.3';
import { RestTransport } from 'a2a-sdk-0.3/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { ADMIN_KEY, openService, type TestService } from './support/service.ts';

type Heard =
  ReturnType<RestTransport['sendMessageStream']> extends AsyncGenerator<infer Item, unknown, unknown> ? Item : never;

let service: TestService;
let client: RestTransport;

beforeAll(async () => {
  service = await openService();
  client = new RestTransport({
    endpoint: `${service.url}/a2a`,
    fetchImpl: (url, init) =>
      fetch(url, { ...init, headers: { ...(init?.headers as object), authorization: `Bearer ${ADMIN_KEY}` } }),
  });
});
afterAll(() => service.close());

const params = (parts: Message['parts'], message: object = {}, configuration: object = {}): MessageSendParams => ({
  message: { kind: 'message', messageId: randomUUID(), role: 'user', parts, ...message },
  configuration: { blocking: true, ...configuration },
});
const text = (words: string): Message['parts'] => [{ kind: 'text', text: words }];
const send = async (words: string, message?: object, configuration?: object): Promise<Task> => {
  const result = await client.sendMessage(params(text(words), message, configuration));
  if (result.kind !== 'task') throw new Error('A task was expected.');
  return result;
};
const collect = async (stream: AsyncIterable<Heard>): Promise<Heard[]> => {
  const heard: Heard[] = [];
  for await (const item of stream) heard.push(item);
  return heard;
};
const ask = async (
  verb: string,
  path: string,
  body?: unknown,
  // oxlint-disable-next-line typescript/no-explicit-any
): Promise<{ status: number; body: Record<string, any> }> => {
  const response = await fetch(service.url + path, {
    method: verb,
    headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
};

describe('the official JavaScript client of 0.3 over REST', () => {
  it('sends a message and gets the task with its answer', async () => {
    const task = await send('hello', { contextId: 'rest-03', metadata: { a: 1 } });
    expect(task).toMatchObject({
      kind: 'task',
      contextId: 'rest-03',
      status: { state: 'completed', message: { kind: 'message', role: 'agent' } },
      artifacts: [{ artifactId: 'answer-1', parts: [{ kind: 'text', text: 'hello' }] }],
      history: [{ role: 'user', metadata: { a: 1 } }, { role: 'agent' }],
    });
  });

  it('sends and gets files and data as they are, and a direct reply as a message', async () => {
    const bytes = Buffer.from('ä').toString('base64');
    const sent = await client.sendMessage(
      params([
        { kind: 'file', file: { bytes, mimeType: 'text/plain' } },
        { kind: 'file', file: { uri: 'https://example.com/x', mimeType: 'image/png' } },
        { kind: 'data', data: { deep: [1, { x: null }] } },
      ]),
    );
    expect((sent as Task).history?.[0]?.parts).toEqual([
      { kind: 'file', file: { bytes, mimeType: 'text/plain' } },
      { kind: 'file', file: { uri: 'https://example.com/x', mimeType: 'image/png' } },
      { kind: 'data', data: { deep: [1, { x: null }] } },
    ]);
    expect((await send('@file')).artifacts?.[0]?.parts[0]).toMatchObject({
      kind: 'file',
      file: { bytes: Buffer.from('hello from sealane\n').toString('base64'), mimeType: 'text/plain' },
    });
    expect((await send('@data')).artifacts?.[0]?.parts).toEqual([{ kind: 'data', data: { echo: true, turn: 1 } }]);
    const reply = await client.sendMessage(params(text('@message good day')));
    expect(reply).toMatchObject({ kind: 'message', role: 'agent', parts: text('good day') });
  });

  it('waits if it says so, and only then', async () => {
    const early = await send('@sleep 600000', {}, { blocking: false });
    expect(['submitted', 'working']).toContain(early.status.state);
    expect((await client.cancelTask({ id: early.id })).status.state).toBe('canceled');
  });

  it('streams a task up to the final event, and another call follows it', async () => {
    const heard = await collect(client.sendMessageStream(params(text('@stream 10 1'))));
    expect(heard[0]?.kind).toBe('task');
    expect(heard.filter(({ kind }) => kind === 'artifact-update')).toHaveLength(10);
    expect(heard.at(-1)).toMatchObject({ kind: 'status-update', final: true, status: { state: 'completed' } });
    const task = await send('@sleep 600000', {}, { blocking: false });
    const following = collect(client.resubscribeTask({ id: task.id }));
    await client.cancelTask({ id: task.id });
    expect((await following).at(-1)).toMatchObject({ final: true, status: { state: 'canceled' } });
  });

  it('answers a question, and gets the task, cut as it asks', async () => {
    const asked = await send('@ask Which one?');
    expect(asked.status).toMatchObject({ state: 'input-required', message: { parts: text('Which one?') } });
    const done = await send('that one', { taskId: asked.id, contextId: asked.contextId });
    expect([done.id, done.status.state]).toEqual([asked.id, 'completed']);
    expect((await client.getTask({ id: done.id, historyLength: 1 })).history).toHaveLength(1);
    expect((await client.getTask({ id: done.id })).history).toHaveLength(4);
  });

  it('keeps webhooks of a task: sets, gets, lists and deletes them', async () => {
    const task = await send('hello');
    const pushNotificationConfig = {
      id: 'hook-1',
      url: 'https://example.com/hook',
      token: 'secret',
      authentication: { schemes: ['Bearer'], credentials: 'abc' },
    };
    const config = { taskId: task.id, pushNotificationConfig };
    expect(await client.setTaskPushNotificationConfig(config)).toEqual(config);
    const name = { id: task.id, pushNotificationConfigId: 'hook-1' };
    expect(await client.getTaskPushNotificationConfig(name)).toEqual(config);
    expect(await client.listTaskPushNotificationConfig({ id: task.id })).toEqual([config]);
    await client.deleteTaskPushNotificationConfig(name);
    expect(await client.listTaskPushNotificationConfig({ id: task.id })).toEqual([]);
  });

  it('reads the extended card, and its security', async () => {
    const card = await client.getExtendedAgentCard();
    expect(card).toMatchObject({
      name: 'echo',
      protocolVersion: '0.3.0',
      capabilities: { streaming: true, pushNotifications: true },
      securitySchemes: { bearer: { type: 'http', scheme: 'Bearer' } },
      supportsAuthenticatedExtendedCard: true,
    });
    expect(card.additionalInterfaces).toContainEqual({ transport: 'HTTP+JSON', url: `${service.url}/a2a` });
    // The Python client reads the same card as the JSON of JSON-RPC.
    expect((await ask('GET', '/v1/card')).body).toMatchObject({
      securitySchemes: { bearer: { type: 'http', scheme: 'Bearer' } },
      security: [{ bearer: [] }],
    });
  });

  it('meets the errors of the protocol as its own kinds of errors', async () => {
    const done = await send('hello');
    await expect(client.getTask({ id: 'no:such/task' })).rejects.toMatchObject({ name: 'TaskNotFoundError' });
    await expect(client.cancelTask({ id: done.id })).rejects.toMatchObject({ name: 'TaskNotCancelableError' });
    await expect(client.sendMessage(params(text('x'), { taskId: done.id }))).rejects.toMatchObject({
      name: 'UnsupportedOperationError',
    });
    await expect(collect(client.sendMessageStream(params([])))).rejects.toThrow(/parts/);
  });
});

describe('REST of 0.3', () => {
  it('is spoken under every base', async () => {
    const { id } = await send('hello');
    for (const base of ['', '/a2a', '/agents/echo']) {
      expect((await ask('GET', `${base}/v1/tasks/${id}`)).body['id']).toBe(id);
    }
  });

  it('takes what the Python client and the test kit write', async () => {
    const sent = await ask('POST', '/v1/message:send', {
      message: {
        message_id: 'm',
        role: 'ROLE_USER',
        content: [
          { text: 'one' },
          { file: { mime_type: 'text/plain', file_with_uri: '', file_with_bytes: 'aGk=', name: 'hi.txt' } },
          { data: { data: { x: 1 } }, metadata: { y: 2 } },
        ],
        context_id: 'snake',
      },
      configuration: { blocking: true, accepted_output_modes: ['text/plain'], history_length: 0 },
    });
    expect(sent).toMatchObject({
      status: 200,
      body: {
        task: {
          contextId: 'snake',
          status: { state: 'TASK_STATE_COMPLETED', message: { role: 'ROLE_AGENT' } },
          history: [
            {
              messageId: 'm',
              role: 'ROLE_USER',
              content: [
                { text: 'one' },
                { file: { fileWithBytes: 'aGk=', mimeType: 'text/plain', name: 'hi.txt' } },
                { data: { data: { x: 1 } }, metadata: { y: 2 } },
              ],
            },
            {},
          ],
        },
      },
    });
    const id = sent.body['task'].id as string;
    const name = `tasks/${id}/pushNotificationConfigs/c1`;
    const made = await ask('POST', `/v1/tasks/${id}/pushNotificationConfigs`, {
      parent: `tasks/${id}`,
      config_id: 'c1',
      config: { name, push_notification_config: { url: 'https://example.com', token: '', authentication: {} } },
    });
    expect(made.body).toEqual({ name, pushNotificationConfig: { id: 'c1', url: 'https://example.com' } });
    const other = await ask('POST', '/v1/tasks/other/pushNotificationConfigs', { name, pushNotificationConfig: {} });
    expect([other.status, other.body['code']]).toEqual([400, -32602]);
    expect((await ask('POST', `/v1/tasks/${id}:cancel`, { name: 'tasks/other' })).status).toBe(400);
    expect((await ask('POST', `/v1/tasks/${id}:cancel`, { name: `tasks/${id}` })).body['code']).toBe(-32002);
  });

  it('takes JSON with kinds too, and lists tasks', async () => {
    const message = { kind: 'message', messageId: 'm', role: 'user', parts: text('plain'), contextId: 'kinds' };
    const sent = await ask('POST', '/v1/message:send', { message });
    expect(sent.body['task']).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } });
    const page = await ask('GET', '/v1/tasks?contextId=kinds&status=TASK_STATE_COMPLETED&pageSize=5');
    expect(page.body).toMatchObject({ totalSize: 1, tasks: [{ id: sent.body['task'].id }] });
    expect((await ask('GET', '/v1/tasks?contextId=kinds&status=TASK_STATE_CANCELLED')).body['totalSize']).toBe(0);
    expect((await ask('GET', '/v1/tasks?status=busy')).status).toBe(400);
  });

  it.each([
    ['nothing', {}],
    ['a list', []],
    ['no message', { configuration: {} }],
    ['two messages', { message: {}, request: {} }],
    ['a number for content', { message: { messageId: 'm', role: 'ROLE_USER', content: 5 } }],
    ['null parts', { message: { messageId: 'm', role: 'ROLE_USER', content: [null, []] } }],
    ['an empty file', { message: { messageId: 'm', role: 'ROLE_USER', content: [{ file: {} }] } }],
    ['an empty part', { message: { messageId: 'm', role: 'ROLE_USER', content: [{}] } }],
    ['both spellings', { message: { messageId: 'm', message_id: 'n', role: 'ROLE_USER', content: [{ text: 'x' }] } }],
    ['an agent as the speaker', { message: { messageId: 'm', role: 2, content: [{ text: 'x' }] } }],
    [
      'a word for a flag',
      { message: { messageId: 'm', role: 1, content: [{ text: 'x' }] }, configuration: { blocking: 'no' } },
    ],
  ])('refuses %s', async (_name, body) => {
    const answer = await ask('POST', '/v1/message:send', body);
    expect([answer.status, answer.body['code'], answer.body['error']]).toEqual([400, -32602, 'InvalidParamsError']);
  });
});
