import { randomUUID } from 'node:crypto';

import type { AgentCard, Message, MessageSendParams, Task } from 'a2a-sdk-0.3';
import { JsonRpcTransport } from 'a2a-sdk-0.3/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { answerOf, refusalOf } from './support/a2a-client.ts';
import { readEventStream } from './support/event-stream.ts';
import { createGateAgent } from './support/gate-agent.ts';
import { ADMIN_KEY, openService, type TestService } from './support/service.ts';

type Heard =
  ReturnType<JsonRpcTransport['sendMessageStream']> extends AsyncGenerator<infer Item, unknown, unknown> ? Item : never;

let service: TestService;
let client: JsonRpcTransport;

const clientWith = (endpoint: string, key: string): JsonRpcTransport =>
  new JsonRpcTransport({
    endpoint,
    fetchImpl: (url, init) =>
      fetch(url, { ...init, headers: { ...(init?.headers as object), authorization: `Bearer ${key}` } }),
  });

beforeAll(async () => {
  service = await openService();
  client = clientWith(`${service.url}/a2a`, ADMIN_KEY);
});
afterAll(() => service.close());

const params = (text: string, message: object = {}, configuration: object = {}): MessageSendParams => ({
  message: { kind: 'message', messageId: randomUUID(), role: 'user', parts: [{ kind: 'text', text }], ...message },
  configuration: { acceptedOutputModes: ['text/plain'], ...configuration },
});
const send = async (text: string, message?: object, configuration?: object): Promise<Task> => {
  const result = await client.sendMessage(params(text, message, configuration));
  if (result.kind !== 'task') throw new Error('A task was expected.');
  return result;
};
const collect = async (stream: AsyncIterable<Heard>): Promise<Heard[]> => {
  const heard: Heard[] = [];
  for await (const item of stream) heard.push(item);
  return heard;
};
const textOf = (parts: Message['parts'] = []): string =>
  parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');

/** What is not for the SDK to say: no version, or another one, and JSON of any kind. */
const ask = <T>(method: string, body: unknown, version = ''): Promise<T> =>
  service.client.call<T>(method, body, { 'a2a-version': version });

describe('the official JavaScript client of 0.3', () => {
  it('sends a message and gets the task with its answer, in the words of 0.3', async () => {
    const task = await send('hello', { contextId: 'talk-03', metadata: { a: 1 } });
    expect(task).toMatchObject({
      kind: 'task',
      contextId: 'talk-03',
      status: { state: 'completed', message: { kind: 'message', role: 'agent' } },
      artifacts: [{ artifactId: 'answer-1', parts: [{ kind: 'text', text: 'hello' }] }],
    });
    expect(task.history?.map(({ kind, role, taskId, parts }) => [kind, role, taskId, textOf(parts)])).toEqual([
      ['message', 'user', task.id, 'hello'],
      ['message', 'agent', task.id, 'hello'],
    ]);
    expect(task.history?.[0]?.metadata).toEqual({ a: 1 });
  });

  it('gets files and data back as it sent them', async () => {
    const parts = [
      { kind: 'file', file: { bytes: 'aGVsbG8=', mimeType: 'text/plain', name: 'hello.txt' } },
      { kind: 'file', file: { uri: 'https://example.org/x.png', mimeType: 'image/png' } },
      { kind: 'data', data: { deep: [1, { two: null }] }, metadata: { m: true } },
      { kind: 'text', text: 'and a text' },
    ];
    const task = await send('', { parts });
    expect(task.artifacts?.[0]?.parts).toEqual(parts);
  });

  it('waits for the answer unless it asks not to', async () => {
    expect((await send('@sleep 20')).status.state).toBe('completed');
    const task = await send('@sleep 600000', {}, { blocking: false });
    expect(task.status.state).toBe('working');
    await client.cancelTask({ id: task.id });
  });

  it('gets a direct reply as a message', async () => {
    const reply = await client.sendMessage(params('@message good day'));
    expect(reply).toMatchObject({ kind: 'message', role: 'agent', parts: [{ kind: 'text', text: 'good day' }] });
    const heard = await collect(client.sendMessageStream(params('@message good day')));
    expect(heard.map(({ kind }) => kind)).toEqual(['message']);
  });

  it('streams the task first, then its events, of which only the last is final', async () => {
    const heard = await collect(client.sendMessageStream(params('@stream 25 1')));
    expect(heard[0]?.kind).toBe('task');
    const chunks = heard.filter((item) => item.kind === 'artifact-update');
    expect(chunks).toHaveLength(25);
    expect(chunks.map(({ append }) => append === true).indexOf(false, 1)).toBe(-1);
    expect(chunks.at(-1)?.lastChunk).toBe(true);
    const finals = heard.map((item) => item.kind === 'status-update' && item.final);
    expect(finals.indexOf(true)).toBe(heard.length - 1);
    expect(heard.at(-1)).toMatchObject({ kind: 'status-update', status: { state: 'completed' } });
  });

  it('hears a question as the final event, answers it, and the task completes', async () => {
    const heard = await collect(client.sendMessageStream(params('@ask Which one?')));
    const question = heard.at(-1);
    if (question?.kind !== 'status-update') throw new Error('The stream did not end with a status.');
    expect([question.status.state, question.final]).toEqual(['input-required', true]);
    expect(textOf(question.status.message?.parts)).toBe('Which one?');
    const done = await send('that one', { taskId: question.taskId, contextId: question.contextId });
    expect([done.id, done.status.state]).toEqual([question.taskId, 'completed']);
  });

  it('gets a task with as much history as it asks for', async () => {
    const { id } = await send('hello');
    const lengths = [];
    for (const historyLength of [undefined, 0, 1, 50]) {
      const task = await client.getTask({ id, ...(historyLength !== undefined && { historyLength }) });
      lengths.push(task.history?.length ?? 0);
    }
    expect(lengths).toEqual([2, 0, 1, 2]);
  });

  it('cancels a running task that it follows again, and both hear of the end', async () => {
    const task = await send('@sleep 600000', {}, { blocking: false });
    const following = client.resubscribeTask({ id: task.id });
    const first = await following.next();
    expect(first.value).toMatchObject({ kind: 'task', id: task.id, status: { state: 'working' } });
    expect((await client.cancelTask({ id: task.id })).status.state).toBe('canceled');
    const rest = await collect(following);
    expect(rest.at(-1)).toMatchObject({ kind: 'status-update', status: { state: 'canceled' }, final: true });
  });

  it('follows a task again over a question, and only its end is final', async () => {
    const gate = createGateAgent();
    await using gated = await openService({ agents: { gate: { connector: gate.connector, default: true } } });
    const caller = clientWith(`${gated.url}/a2a`, ADMIN_KEY);
    const sent = await caller.sendMessage(params('begin', {}, { blocking: false }));
    if (sent.kind !== 'task') throw new Error('A task was expected.');
    const following = caller.resubscribeTask({ id: sent.id });
    await following.next();
    (await gate.started('begin')).end({ state: 'input-required' });
    const asked = (await following.next()).value as Heard;
    expect(asked).toMatchObject({ status: { state: 'input-required' }, final: false });
    await caller.sendMessage(params('go on', { taskId: sent.id }, { blocking: false }));
    (await gate.started('go on')).end();
    const rest = await collect(following);
    expect(rest.map((item) => item.kind === 'status-update' && item.final).indexOf(true)).toBe(rest.length - 1);
  });

  it('is told of an ended task once when it follows it again', async () => {
    const { id } = await send('hello');
    const heard = await collect(client.resubscribeTask({ id }));
    expect(heard).toMatchObject([{ kind: 'task', id, status: { state: 'completed' } }]);
  });

  it('sets, gets, lists and deletes webhooks of a task', async () => {
    const { id } = await send('@ask which?');
    const authentication = { schemes: ['Bearer', 'Basic'], credentials: 'secret' };
    const plain = await client.setTaskPushNotificationConfig({
      taskId: id,
      pushNotificationConfig: { url: 'https://example.com/a', token: 't', authentication },
    });
    expect(plain).toEqual({
      taskId: id,
      pushNotificationConfig: {
        id,
        url: 'https://example.com/a',
        token: 't',
        authentication: { schemes: ['Bearer'], credentials: 'secret' },
      },
    });
    // One that has no id is the task's own: the next one takes its place.
    await client.setTaskPushNotificationConfig({
      taskId: id,
      pushNotificationConfig: { url: 'https://example.com/b' },
    });
    await client.setTaskPushNotificationConfig({
      taskId: id,
      pushNotificationConfig: { id: 'second', url: 'https://example.com/c' },
    });
    const urlOf = async (name: object): Promise<string> =>
      (await client.getTaskPushNotificationConfig({ id, ...name })).pushNotificationConfig.url;
    expect([await urlOf({}), await urlOf({ pushNotificationConfigId: 'second' })]).toEqual([
      'https://example.com/b',
      'https://example.com/c',
    ]);
    const listed = await client.listTaskPushNotificationConfig({ id });
    expect(Object.fromEntries(listed.map(({ pushNotificationConfig: { id: name, url } }) => [name, url]))).toEqual({
      [id]: 'https://example.com/b',
      second: 'https://example.com/c',
    });
    expect(listed.every(({ taskId }) => taskId === id)).toBe(true);
    await client.deleteTaskPushNotificationConfig({ id, pushNotificationConfigId: id });
    expect(await urlOf({})).toBe('https://example.com/c');
    await client.deleteTaskPushNotificationConfig({ id, pushNotificationConfigId: 'second' });
    expect(await client.listTaskPushNotificationConfig({ id })).toEqual([]);
    await expect(urlOf({})).rejects.toMatchObject({ name: 'TaskNotFoundError' });
  });

  it('registers a webhook with its message', async () => {
    const pushNotificationConfig = { id: 'mine', url: 'https://example.com/hook' };
    const { id } = await send('@ask which?', {}, { pushNotificationConfig });
    const found = await client.getTaskPushNotificationConfig({ id });
    expect(found.pushNotificationConfig).toEqual(pushNotificationConfig);
  });

  it('gets the extended card in the form of 0.3', async () => {
    const card: AgentCard = await client.getExtendedAgentCard();
    expect(card).toMatchObject({
      url: `${service.url}/a2a`,
      preferredTransport: 'JSONRPC',
      supportsAuthenticatedExtendedCard: true,
      capabilities: { streaming: true },
    });
    expect(card.protocolVersion).toMatch(/^0\.3/);
  });

  it('meets the errors of the protocol as its own kinds of errors', async () => {
    const done = await send('hello');
    await expect(client.getTask({ id: randomUUID() })).rejects.toMatchObject({ name: 'TaskNotFoundError' });
    await expect(client.cancelTask({ id: done.id })).rejects.toMatchObject({ name: 'TaskNotCancelableError' });
    await expect(client.sendMessage(params('again', { taskId: done.id }))).rejects.toMatchObject({
      name: 'UnsupportedOperationError',
    });
    await expect(client.sendMessage(params('again', { taskId: randomUUID() }))).rejects.toMatchObject({
      name: 'TaskNotFoundError',
    });
    // A stream that is refused says why as well.
    await expect(collect(client.resubscribeTask({ id: randomUUID() }))).rejects.toMatchObject({
      cause: { name: 'TaskNotFoundError' },
    });
    await expect(collect(client.sendMessageStream(params('', { parts: [] })))).rejects.toThrow(/parts.*-32602/);
  });
});

describe('0.3 beside 1.0', () => {
  it('hears of active extensions in the header that 0.3 has for them, on streams too', async () => {
    const uri = 'https://sealane.dev/extensions/task-log/v1';
    for (const method of ['message/send', 'message/stream']) {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: params('hello') });
      const response = await service.client.post(body, {
        'a2a-version': '',
        'x-a2a-extensions': `urn:unknown, ${uri}`,
      });
      expect([method, response.headers.get('x-a2a-extensions')]).toEqual([method, uri]);
      await response.text();
    }
  });

  it('shows tasks of one in the other', async () => {
    const old = await send('hello');
    const shown = await service.client.get(old.id);
    expect([shown.status.state, answerOf(shown)]).toEqual(['TASK_STATE_COMPLETED', 'hello']);
    const young = await service.client.send('good day');
    expect(await client.getTask({ id: young.id })).toMatchObject({
      kind: 'task',
      artifacts: [{ parts: [{ kind: 'text', text: 'good day' }] }],
    });
    const listed = await ask<{ tasks: Task[] }>('tasks/list', { contextId: young.contextId, status: 'completed' });
    expect(listed.tasks.map(({ id, kind }) => [id, kind])).toEqual([[young.id, 'task']]);
  });

  it('shows all data, also what 0.3 has no form for', async () => {
    const young = await service.client.send('', { parts: [{ data: [1, 2] }, { data: null }, { text: 'x' }] });
    const parts = (await client.getTask({ id: young.id })).artifacts?.[0]?.parts;
    expect(parts).toEqual([
      { kind: 'data', data: { value: [1, 2] }, metadata: { data_part_compat: true } },
      { kind: 'data', data: { value: null }, metadata: { data_part_compat: true } },
      { kind: 'text', text: 'x' },
    ]);
    const back = await send('', { parts });
    expect((await service.client.get(back.id)).artifacts?.[0]?.parts).toEqual([
      { data: [1, 2] },
      { data: null },
      { text: 'x' },
    ]);
  });

  it('keeps a version to its methods, and says what is wrong in its words', async () => {
    for (const version of ['0.3', '0.2', '0.3.0']) {
      expect(await ask<Task>('message/send', params('hi'), version)).toMatchObject({ kind: 'task' });
      const refused = await refusalOf(ask('SendMessage', {}, version));
      expect([refused.code, refused.data]).toEqual([-32601, { reason: 'METHOD_NOT_FOUND' }]);
      expect(refused.message).toContain('message/send');
      expect((await refusalOf(ask('tasks/send', {}, version))).code).toBe(-32601);
    }
    expect((await refusalOf(ask('message/send', params('hi'), '1.0'))).code).toBe(-32601);
    const unknown = await refusalOf(ask('message/send', params('hi'), '0.4'));
    expect([unknown.code, Array.isArray(unknown.data)]).toEqual([-32009, true]);
    const missing = await refusalOf(ask('tasks/get', { id: 'nobody' }));
    expect([missing.code, missing.data]).toEqual([-32001, { reason: 'TASK_NOT_FOUND', taskId: 'nobody' }]);
  });

  it('resumes after the last event that a reader has seen, also of an ended task', async () => {
    const { id } = await send('@stream 5 0');
    const read = async (lastEventId: number) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks/resubscribe', params: { id } });
      const headers = { 'a2a-version': '0.3', 'last-event-id': String(lastEventId) };
      return await readEventStream(await service.client.post(body, headers)).rest();
    };
    const all = await read(0);
    expect(all.map((event) => event.id)).toEqual(all.map((_event, index) => index + 1));
    const later = await read(3);
    expect(later.map(({ text }) => text)).toEqual(all.slice(3).map(({ text }) => text));
    expect(JSON.parse(all.at(-1)!.text)).toMatchObject({ result: { kind: 'status-update', final: true } });
  });

  it('takes parts and messages that do not say what they are, where that is plain to see', async () => {
    const message = { messageId: 'm', role: 'user', parts: [{ text: 'a' }, { data: {} }, { file: { bytes: 'YQ' } }] };
    const task = await ask<Task>('message/send', { message });
    expect(task.artifacts?.[0]?.parts).toEqual([
      { kind: 'text', text: 'a' },
      { kind: 'data', data: {} },
      { kind: 'file', file: { bytes: 'YQ==' } },
    ]);
  });

  it('of another owner are unknown', async () => {
    const { id } = await send('@ask which?');
    const stranger = await service.clientOf('stranger-03');
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/resubscribe', 'tasks/pushNotificationConfig/list']) {
      expect((await refusalOf(stranger.call(method, { id }, { 'a2a-version': '' }))).code).toBe(-32001);
    }
  });
});
