import { randomUUID } from 'node:crypto';

import {
  CancelTaskRequest,
  GetTaskRequest,
  ListTasksRequest,
  type Message,
  type Part,
  SendMessageRequest,
  type StreamResponse,
  SubscribeToTaskRequest,
  type Task,
  TaskPushNotificationConfig,
  TaskState,
} from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  createAuthenticatingFetchWithRetry,
  DefaultAgentCardResolver,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { ADMIN_KEY, openService, type TestService } from './support/service.ts';

let service: TestService;
let client: Client;

const clientWith = (url: string, key: string): Promise<Client> => {
  const fetchImpl = createAuthenticatingFetchWithRetry(fetch, {
    headers: async () => ({ Authorization: `Bearer ${key}` }),
    shouldRetryWithHeaders: async () => undefined,
  });
  return new ClientFactory({
    transports: [new RestTransportFactory({ fetchImpl })],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  }).createFromUrl(url);
};

beforeAll(async () => {
  service = await openService();
  client = await clientWith(service.url, ADMIN_KEY);
});
afterAll(() => service.close());

const request = (text: string, message: object = {}, configuration: object = {}, tenant = ''): SendMessageRequest =>
  SendMessageRequest.fromJSON({
    tenant,
    message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...message },
    configuration,
  });
const textOf = (parts: readonly Part[] = []): string =>
  parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('');
const taskOf = (result: Task | Message): Task => {
  if (!('status' in result)) throw new Error('A task was expected.');
  return result;
};
const send = async (text: string, message?: object, configuration?: object): Promise<Task> =>
  taskOf(await client.sendMessage(request(text, message, configuration)));
const collect = async (stream: AsyncIterable<StreamResponse>): Promise<StreamResponse[]> => {
  const events: StreamResponse[] = [];
  for await (const event of stream) events.push(event);
  return events;
};
const lastState = (events: readonly StreamResponse[]): TaskState | undefined => {
  const last = events.at(-1)?.payload;
  return last?.$case === 'statusUpdate' ? last.value.status?.state : undefined;
};
const ask = (verb: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(service.url + path, {
    method: verb,
    headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/a2a+json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });

describe('the official JavaScript client over REST', () => {
  it('sends a message and gets the task with its answer', async () => {
    const task = await send('hello', { contextId: 'rest' });
    expect([task.contextId, task.status?.state]).toEqual(['rest', TaskState.TASK_STATE_COMPLETED]);
    expect(textOf(task.artifacts[0]?.parts)).toBe('hello');
    expect(task.history).toHaveLength(2);
  });

  it('gets files and data as they are, and a direct reply as a message', async () => {
    const part = (await send('@file')).artifacts[0]!.parts[0]!;
    expect(part).toMatchObject({ filename: 'hello.txt', mediaType: 'text/plain' });
    expect(part.content?.$case === 'raw' && part.content.value.toString()).toBe('hello from sealane\n');
    const data = await send('@data');
    expect(data.artifacts[0]!.parts[0]!.content).toEqual({ $case: 'data', value: { echo: true, turn: 1 } });
    const reply = await client.sendMessage(request('@message good day'));
    expect(textOf((reply as Message).parts)).toBe('good day');
  });

  it('streams a task: the task first, then chunks, then its end', async () => {
    const events = await collect(client.sendMessageStream(request('@stream 25 1')));
    const kinds = events.map(({ payload }) => payload?.$case);
    expect(kinds[0]).toBe('task');
    expect(kinds.filter((kind) => kind === 'artifactUpdate')).toHaveLength(25);
    expect(lastState(events)).toBe(TaskState.TASK_STATE_COMPLETED);
  });

  it('answers a question and completes the task', async () => {
    const asked = await send('@ask Which one?');
    expect(asked.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    const done = await send('that one', { taskId: asked.id, contextId: asked.contextId });
    expect([done.id, done.status?.state]).toEqual([asked.id, TaskState.TASK_STATE_COMPLETED]);
  });

  it('gets and lists tasks, cut and chosen as it asks', async () => {
    const contextId = `a context: ${randomUUID()}/é`;
    const tasks = [await send('one', { contextId }), await send('two', { contextId })];
    expect(
      (await client.getTask(GetTaskRequest.fromJSON({ id: tasks[0]!.id, historyLength: 1 }))).history,
    ).toHaveLength(1);
    expect((await client.getTask(GetTaskRequest.fromJSON({ id: tasks[0]!.id, historyLength: 0 }))).history).toEqual([]);
    const list = (more: object) => client.listTasks(ListTasksRequest.fromJSON({ contextId, pageSize: 1, ...more }));
    const first = await list({ includeArtifacts: true, status: 'TASK_STATE_COMPLETED' });
    expect([first.totalSize, first.tasks.map(({ id }) => id)]).toEqual([2, [tasks[1]!.id]]);
    expect(first.tasks[0]?.artifacts).toHaveLength(1);
    const second = await list({ pageToken: first.nextPageToken });
    expect([second.nextPageToken, second.tasks.map(({ id }) => id)]).toEqual(['', [tasks[0]!.id]]);
    expect((await list({ status: 'TASK_STATE_FAILED' })).totalSize).toBe(0);
    const since = tasks[1]!.status!.timestamp;
    expect((await list({ statusTimestampAfter: since })).totalSize).toBe(1);
  });

  it('cancels a running task while another of its calls follows it', async () => {
    const task = await send('@sleep 600000', {}, { returnImmediately: true });
    expect(task.status?.state).toBe(TaskState.TASK_STATE_WORKING);
    const following = collect(client.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id: task.id })));
    const canceled = await client.cancelTask(CancelTaskRequest.fromJSON({ id: task.id }));
    expect(canceled.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    expect(lastState(await following)).toBe(TaskState.TASK_STATE_CANCELED);
  });

  it('keeps webhooks of a task: makes, gets, lists and deletes them', async () => {
    const { id: taskId } = await send('hello');
    const id = 'my hook/1:x';
    const url = 'https://example.com/hook';
    const made = await client.createTaskPushNotificationConfig(
      TaskPushNotificationConfig.fromJSON({
        taskId,
        id,
        url,
        token: 'secret',
        authentication: { scheme: 'Bearer', credentials: 'abc' },
      }),
    );
    expect(made).toMatchObject({ id, taskId, url });
    const name = { tenant: '', taskId, id };
    expect(await client.getTaskPushNotificationConfig(name)).toMatchObject({ id, taskId, url });
    const all = { tenant: '', taskId, pageSize: 0, pageToken: '' };
    expect((await client.listTaskPushNotificationConfig(all)).configs).toHaveLength(1);
    await client.deleteTaskPushNotificationConfig(name);
    expect((await client.listTaskPushNotificationConfig(all)).configs).toEqual([]);
    await expect(client.getTaskPushNotificationConfig(name)).rejects.toMatchObject({ name: 'TaskNotFoundError' });
  });

  it('gets the extended card', async () => {
    const card = await client.getAgentCard();
    expect(card).toMatchObject({ name: 'echo' });
    expect(card.supportedInterfaces).toContainEqual(
      expect.objectContaining({ protocolBinding: 'HTTP+JSON', protocolVersion: '1.0', url: `${service.url}/a2a` }),
    );
  });

  it('sees only the tasks of its tenant', async () => {
    const task = taskOf(await client.sendMessage(request('mine', {}, {}, 'acme & co')));
    expect((await client.getTask(GetTaskRequest.fromJSON({ id: task.id, tenant: 'acme & co' }))).id).toBe(task.id);
    const { tasks } = await client.listTasks(ListTasksRequest.fromJSON({ tenant: 'acme & co' }));
    expect(tasks.map(({ id }) => id)).toEqual([task.id]);
    for (const tenant of ['', 'other']) {
      await expect(client.getTask(GetTaskRequest.fromJSON({ id: task.id, tenant }))).rejects.toMatchObject({
        name: 'TaskNotFoundError',
      });
    }
  });

  it('meets the errors of the protocol as its own kinds of errors', async () => {
    const done = await send('hello');
    for (const [call, name] of [
      [client.getTask(GetTaskRequest.fromJSON({ id: 'no:such/task' })), 'TaskNotFoundError'],
      [client.cancelTask(CancelTaskRequest.fromJSON({ id: done.id })), 'TaskNotCancelableError'],
      [collect(client.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id: done.id }))), 'UnsupportedOperationError'],
      [client.sendMessage(request('again', { taskId: done.id })), 'UnsupportedOperationError'],
    ] as const) {
      await expect(call).rejects.toMatchObject({ name });
    }
    const stranger = await clientWith(service.url, 'wrong');
    await expect(stranger.sendMessage(request('hello'))).rejects.toThrow(/key/i);
  });
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
