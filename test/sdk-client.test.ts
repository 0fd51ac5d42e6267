import { randomUUID } from 'node:crypto';

import {
  CancelTaskRequest,
  GetTaskRequest,
  ListTasksRequest,
  Message,
  type Part,
  SendMessageRequest,
  type StreamResponse,
  SubscribeToTaskRequest,
  type Task,
  TaskState,
} from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  ClientFactoryOptions,
  createAuthenticatingFetchWithRetry,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
} from '@a2a-js/sdk/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openService, type TestService } from './support/service.ts';

let service: TestService;
let client: Client;

const clientWith = (url: string, key: string): Promise<Client> => {
  const fetchImpl = createAuthenticatingFetchWithRetry(fetch, {
    headers: async () => ({ Authorization: `Bearer ${key}` }),
    shouldRetryWithHeaders: async () => undefined,
  });
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new JsonRpcTransportFactory({ fetchImpl })],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  });
  return new ClientFactory(options).createFromUrl(url);
};

beforeAll(async () => {
  service = await openService();
  client = await clientWith(service.url, 'the-admin-key');
});
afterAll(() => service.close());

const request = (text: string, message: object = {}, configuration: object = {}): SendMessageRequest =>
  SendMessageRequest.fromJSON({
    message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...message },
    configuration,
  });
const textOf = (parts: readonly Part[] = []): string =>
  parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('');
const send = async (text: string, message?: object, configuration?: object): Promise<Task> => {
  const result = await client.sendMessage(request(text, message, configuration));
  if (!('status' in result)) throw new Error('A task was expected.');
  return result;
};
const collect = async (stream: AsyncIterable<StreamResponse>): Promise<StreamResponse[]> => {
  const events: StreamResponse[] = [];
  for await (const event of stream) events.push(event);
  return events;
};

describe('the official JavaScript client', () => {
  it('finds the card and reads what it promises', async () => {
    const card = await client.getAgentCard();
    expect(card).toMatchObject({ name: 'echo', capabilities: { streaming: true, extendedAgentCard: true } });
    expect(card.supportedInterfaces[0]).toMatchObject({
      url: `${service.url}/a2a`,
      protocolBinding: 'JSONRPC',
      protocolVersion: '1.0',
    });
    expect(card.skills.length).toBeGreaterThan(0);
  });

  it('sends a message and gets the task with its answer', async () => {
    const task = await send('hello', { contextId: 'sdk' }, {});
    expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(task.contextId).toBe('sdk');
    expect(textOf(task.artifacts[0]?.parts)).toBe('hello');
    expect(textOf(task.status?.message?.parts)).toBe('hello');
    expect(task.history.map(({ parts }) => textOf(parts))).toEqual(['hello', 'hello']);
  });

  it('gets files and data as they are', async () => {
    const file = await send('@file');
    const part = file.artifacts[0]!.parts[0]!;
    expect(part).toMatchObject({ filename: 'hello.txt', mediaType: 'text/plain' });
    expect(part.content?.$case === 'raw' && part.content.value.toString()).toBe('hello from sealane\n');
    const data = await send('@data');
    expect(data.artifacts[0]!.parts[0]!.content).toEqual({ $case: 'data', value: { echo: true, turn: 1 } });
  });

  it('gets a direct reply as a message', async () => {
    const reply = await client.sendMessage(request('@message good day'));
    expect('status' in reply).toBe(false);
    expect(textOf((reply as Message).parts)).toBe('good day');
  });

  it('streams a task: the task first, then chunks, then its end', async () => {
    const events = await collect(client.sendMessageStream(request('@stream 25 1')));
    const kinds = events.map(({ payload }) => payload?.$case);
    expect(kinds[0]).toBe('task');
    expect(kinds.filter((kind) => kind === 'artifactUpdate')).toHaveLength(25);
    const last = events.at(-1)?.payload;
    expect(last?.$case === 'statusUpdate' && last.value.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
  });

  it('answers a question and completes the task', async () => {
    const asked = await send('@ask Which one?');
    expect(asked.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    const done = await send('that one', { taskId: asked.id, contextId: asked.contextId });
    expect([done.id, done.status?.state]).toEqual([asked.id, TaskState.TASK_STATE_COMPLETED]);
  });

  it('gets and lists tasks, cut as it asks', async () => {
    const contextId = randomUUID();
    const tasks = [await send('one', { contextId }), await send('two', { contextId })];
    const found = await client.getTask(GetTaskRequest.fromJSON({ id: tasks[0]!.id, historyLength: 1 }));
    expect(found.history).toHaveLength(1);
    const first = await client.listTasks(ListTasksRequest.fromJSON({ contextId, pageSize: 1 }));
    expect([first.totalSize, first.tasks.map(({ id }) => id)]).toEqual([2, [tasks[1]!.id]]);
    const second = await client.listTasks(
      ListTasksRequest.fromJSON({ contextId, pageSize: 1, pageToken: first.nextPageToken }),
    );
    expect([second.nextPageToken, second.tasks.map(({ id }) => id)]).toEqual(['', [tasks[0]!.id]]);
  });

  it('cancels a running task while another of its calls follows it', async () => {
    const task = await send('@sleep 600000', {}, { returnImmediately: true });
    expect(task.status?.state).toBe(TaskState.TASK_STATE_WORKING);
    const following = collect(client.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id: task.id })));
    const canceled = await client.cancelTask(CancelTaskRequest.fromJSON({ id: task.id }));
    expect(canceled.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    const last = (await following).at(-1)?.payload;
    expect(last?.$case === 'statusUpdate' && last.value.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
  });

  it('meets the errors of the protocol as its own kinds of errors', async () => {
    const done = await send('hello');
    await expect(client.getTask(GetTaskRequest.fromJSON({ id: randomUUID() }))).rejects.toMatchObject({
      name: 'TaskNotFoundError',
    });
    await expect(client.cancelTask(CancelTaskRequest.fromJSON({ id: done.id }))).rejects.toMatchObject({
      name: 'TaskNotCancelableError',
    });
    await expect(
      collect(client.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id: done.id }))),
    ).rejects.toMatchObject({ name: 'UnsupportedOperationError' });
    await expect(client.sendMessage(request('again', { taskId: done.id }))).rejects.toMatchObject({
      name: 'UnsupportedOperationError',
    });
    // It reads the card and does not even ask.
    expect(() =>
      client.listTaskPushNotificationConfig({ tenant: '', taskId: done.id, pageSize: 0, pageToken: '' }),
    ).toThrow(/push/i);
  });

  it('with a wrong key is refused', async () => {
    const stranger = await clientWith(service.url, 'wrong');
    await expect(stranger.sendMessage(request('hello'))).rejects.toThrow(/401|key/i);
  });
});
