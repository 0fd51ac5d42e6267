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
  JsonRpcTransportFactory,
  RestTransportFactory,
  type TransportFactory,
} from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { ADMIN_KEY, openService, type TestService } from './support/service.ts';

const OPTIONS = { serviceParameters: { authorization: `Bearer ${ADMIN_KEY}` } };

const TRANSPORTS: readonly (readonly [string, () => TransportFactory])[] = [
  ['JSON-RPC', () => new JsonRpcTransportFactory()],
  ['REST', () => new RestTransportFactory()],
  ['gRPC', () => new GrpcTransportFactory()],
];

let service: TestService;
let client: Client;
let grpcAddress: string;
beforeAll(async () => {
  service = await openService();
  grpcAddress = await service.sealane.listenGrpc();
});
afterAll(() => service.close());

const request = (parts: readonly object[], message: object = {}, configuration: object = {}): SendMessageRequest =>
  SendMessageRequest.fromJSON({
    message: { messageId: randomUUID(), role: 'ROLE_USER', parts, ...message },
    configuration,
  });
const textOf = (parts: readonly Part[] = []): string =>
  parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('');
const send = async (text: string, message?: object, configuration?: object): Promise<Task> => {
  const result = await client.sendMessage(request([{ text }], message, configuration), OPTIONS);
  if (!('status' in result)) throw new Error('A task was expected.');
  return result;
};
const get = (id: string, more: object = {}): Promise<Task> =>
  client.getTask(GetTaskRequest.fromJSON({ id, ...more }), OPTIONS);
const collect = async (stream: AsyncIterable<StreamResponse>): Promise<StreamResponse[]> => {
  const events: StreamResponse[] = [];
  for await (const event of stream) events.push(event);
  return events;
};

describe.each(TRANSPORTS)('the official JavaScript client over %s', (_name, transport) => {
  beforeAll(async () => {
    client = await new ClientFactory({ transports: [transport()] }).createFromUrl(service.url);
  });

  it('finds every address on the public card, and gets the extended one', async () => {
    const shown = await fetch(`${service.url}/.well-known/agent-card.json`);
    const promised = [
      { url: `${service.url}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url: `${service.url}/a2a`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
      { url: grpcAddress, protocolBinding: 'GRPC', protocolVersion: '1.0' },
    ];
    expect(await shown.json()).toMatchObject({ supportedInterfaces: expect.arrayContaining(promised) });
    const card = await client.getAgentCard(OPTIONS);
    expect(card.supportedInterfaces).toEqual(
      expect.arrayContaining(promised.map((address) => ({ ...address, tenant: '' }))),
    );
    expect(card.securitySchemes).toHaveProperty('bearer');
  });

  it('sends a message and gets the task with its answer, the same as others see it', async () => {
    const task = await send('hello', { contextId: 'sdk' });
    expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(task.contextId).toBe('sdk');
    expect(textOf(task.artifacts[0]?.parts)).toBe('hello');
    const seen = await service.client.get(task.id);
    expect(seen.status).toMatchObject({ state: 'TASK_STATE_COMPLETED', timestamp: task.status?.timestamp });
  });

  it('does not wait when it asks not to', async () => {
    const task = await send('@sleep 600000', {}, { returnImmediately: true });
    expect(task.status?.state).toBe(TaskState.TASK_STATE_WORKING);
    await client.cancelTask(CancelTaskRequest.fromJSON({ id: task.id }), OPTIONS);
  });

  it('sends and gets parts of every kind as they are', async () => {
    const metadata = { list: [1, -2.5, 'three', null, true, [], {}], nested: { deep: { deeper: 'ä€😀' } }, empty: '' };
    const parts = [
      { text: 'ä€😀' },
      { raw: Buffer.from([0, 1, 254, 255]).toString('base64'), mediaType: 'application/octet-stream', filename: 'b' },
      { url: 'https://example.com/file.pdf', mediaType: 'application/pdf' },
      { data: { answer: 42, list: [null, false] }, metadata },
      { data: [] },
      { data: 'text' },
      { data: 0 },
      { data: false },
    ];
    const sending = request(parts, { metadata, extensions: ['urn:x'] });
    const { id } = (await client.sendMessage(sending, OPTIONS)) as Task;
    const [artifact] = (await get(id)).artifacts;
    expect(artifact?.parts.map(({ content }) => content)).toEqual([
      { $case: 'text', value: 'ä€😀' },
      { $case: 'raw', value: Buffer.from([0, 1, 254, 255]) },
      { $case: 'url', value: 'https://example.com/file.pdf' },
      { $case: 'data', value: { answer: 42, list: [null, false] } },
      { $case: 'data', value: [] },
      { $case: 'data', value: 'text' },
      { $case: 'data', value: 0 },
      { $case: 'data', value: false },
    ]);
    const [sent] = (await get(id)).history;
    expect(sent).toMatchObject({ metadata, extensions: ['urn:x'] });
    expect(sent?.parts[1]).toMatchObject({ mediaType: 'application/octet-stream', filename: 'b' });
    expect((await service.client.get(id)).history?.[0]?.parts).toEqual(parts);
  });

  it('gets a direct reply as a message, alone or as the only item of a stream', async () => {
    const reply = await client.sendMessage(request([{ text: '@message good day' }]), OPTIONS);
    expect('status' in reply).toBe(false);
    expect(textOf((reply as Message).parts)).toBe('good day');
    const events = await collect(client.sendMessageStream(request([{ text: '@message good day' }]), OPTIONS));
    expect(events.map(({ payload }) => payload?.$case)).toEqual(['message']);
  });

  it('streams a task: the task first, then chunks, then its end', async () => {
    const events = await collect(client.sendMessageStream(request([{ text: '@stream 25 1' }]), OPTIONS));
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

  it('cuts the history as it asks: nothing at 0, everything when it does not say', async () => {
    const { id } = await send('hello');
    expect((await get(id)).history).toHaveLength(2);
    expect((await get(id, { historyLength: 1 })).history).toHaveLength(1);
    expect((await get(id, { historyLength: 0 })).history).toHaveLength(0);
    expect((await send('hello', {}, { historyLength: 0 })).history).toHaveLength(0);
  });

  it('lists tasks by page, context, state and time', async () => {
    const contextId = randomUUID();
    const tasks = [await send('one', { contextId }), await send('two', { contextId })];
    const list = (filter: object) => client.listTasks(ListTasksRequest.fromJSON({ contextId, ...filter }), OPTIONS);
    const first = await list({ pageSize: 1 });
    expect([first.totalSize, first.pageSize, first.tasks.map(({ id }) => id)]).toEqual([2, 1, [tasks[1]!.id]]);
    expect(first.tasks[0]!.artifacts).toEqual([]);
    const second = await list({ pageSize: 1, pageToken: first.nextPageToken, includeArtifacts: true });
    expect([second.nextPageToken, second.tasks.map(({ id }) => id)]).toEqual(['', [tasks[0]!.id]]);
    expect(second.tasks[0]!.artifacts).toHaveLength(1);
    expect((await list({ status: 'TASK_STATE_FAILED' })).tasks).toEqual([]);
    expect((await list({ statusTimestampAfter: tasks[1]!.status!.timestamp! })).tasks.map(({ id }) => id)).toContain(
      tasks[1]!.id,
    );
    expect((await list({ statusTimestampAfter: '2100-01-01T00:00:00Z' })).tasks).toEqual([]);
    await expect(list({ pageSize: 101 })).rejects.toMatchObject({ name: 'RequestMalformedError' });
    await expect(list({ pageSize: 0 })).rejects.toMatchObject({ name: 'RequestMalformedError' });
  });

  it('cancels a running task while another of its calls follows it', async () => {
    const task = await send('@sleep 600000', {}, { returnImmediately: true });
    const following = collect(client.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id: task.id }), OPTIONS));
    const canceled = await client.cancelTask(CancelTaskRequest.fromJSON({ id: task.id }), OPTIONS);
    expect(canceled.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    const events = await following;
    expect(events[0]?.payload?.$case).toBe('task');
    const last = events.at(-1)?.payload;
    expect(last?.$case === 'statusUpdate' && last.value.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
  });

  it('registers, reads, lists and deletes webhooks', async () => {
    const { id: taskId } = await send('hello');
    const config = TaskPushNotificationConfig.fromJSON({
      taskId,
      id: 'mine',
      url: 'https://example.com/hook',
      token: 'secret',
      authentication: { scheme: 'Bearer', credentials: 'for-you' },
    });
    expect(await client.createTaskPushNotificationConfig(config, OPTIONS)).toEqual(config);
    const name = { taskId, id: 'mine', tenant: '' };
    expect(await client.getTaskPushNotificationConfig(name, OPTIONS)).toEqual(config);
    const asked = { taskId, tenant: '', pageSize: 0, pageToken: '' };
    expect((await client.listTaskPushNotificationConfig(asked, OPTIONS)).configs).toEqual([config]);
    await client.deleteTaskPushNotificationConfig(name, OPTIONS);
    expect((await client.listTaskPushNotificationConfig(asked, OPTIONS)).configs).toEqual([]);
    await expect(client.getTaskPushNotificationConfig(name, OPTIONS)).rejects.toMatchObject({
      name: 'TaskNotFoundError',
    });
  });

  it('meets the errors of the protocol as its own kinds of errors', async () => {
    const done = await send('hello');
    const ended = SubscribeToTaskRequest.fromJSON({ id: done.id });
    await expect(get(randomUUID())).rejects.toMatchObject({ name: 'TaskNotFoundError' });
    await expect(client.cancelTask(CancelTaskRequest.fromJSON({ id: done.id }), OPTIONS)).rejects.toMatchObject({
      name: 'TaskNotCancelableError',
    });
    await expect(collect(client.resubscribeTask(ended, OPTIONS))).rejects.toMatchObject({
      name: 'UnsupportedOperationError',
    });
    await expect(send('again', { taskId: done.id })).rejects.toMatchObject({ name: 'UnsupportedOperationError' });
    await expect(collect(client.sendMessageStream(request([]), OPTIONS))).rejects.toMatchObject({
      name: 'RequestMalformedError',
    });
  });

  it('sees only the tasks of its tenant', async () => {
    const { id } = await send('hello', {}, {});
    await expect(get(id, { tenant: 'elsewhere' })).rejects.toMatchObject({ name: 'TaskNotFoundError' });
  });

  it('with a wrong key is refused', async () => {
    const wrong = { serviceParameters: { authorization: 'Bearer wrong' } };
    await expect(client.sendMessage(request([{ text: 'hello' }]), wrong)).rejects.toThrow(/401|key|unauthenticated/i);
  });
});
