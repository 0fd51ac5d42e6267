import { randomUUID } from 'node:crypto';

import { AgentCard as NewCard, GetTaskRequest, SendMessageRequest, SubscribeToTaskRequest } from '@a2a-js/sdk';
import { ClientFactory as NewClientFactory } from '@a2a-js/sdk/client';
import { GrpcTransportFactory as NewGrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import type { AgentCard, Message, MessageSendParams, Part, Task, TaskStatusUpdateEvent } from 'a2a-sdk-0.3';
import { type Client, ClientFactory } from 'a2a-sdk-0.3/client';
import { GrpcTransportFactory } from 'a2a-sdk-0.3/client/grpc';
import { ALL_CAPABILITIES } from '#protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { ADMIN_KEY, openService, type TestService } from './support/service.ts';

const OPTIONS = { serviceParameters: { authorization: `Bearer ${ADMIN_KEY}` } };

let service: TestService;
let address: string;
let client: Client;
beforeAll(async () => {
  service = await openService();
  address = await service.sealane.listenGrpc();
  client = await clientOf(service);
});
afterAll(() => service.close());

/** It reads the card as 0.3 clients do, without a version, and takes the address of gRPC from it. */
const clientOf = async ({ url }: TestService): Promise<Client> => {
  const factory = new ClientFactory({ transports: [new GrpcTransportFactory()] });
  return await factory.createFromAgentCard(await cardOf(url));
};
const cardOf = async (url: string): Promise<AgentCard> =>
  (await (await fetch(`${url}/.well-known/agent-card.json`)).json()) as AgentCard;

const params = (parts: Part[], message: Partial<Message> = {}, more: Partial<MessageSendParams> = {}) => ({
  message: { kind: 'message' as const, messageId: randomUUID(), role: 'user' as const, parts, ...message },
  ...more,
});
const text = (words: string): Part[] => [{ kind: 'text', text: words }];
const send = async (words: string, message?: Partial<Message>, more?: Partial<MessageSendParams>): Promise<Task> =>
  (await client.sendMessage(params(text(words), message, more), OPTIONS)) as Task;
const collect = async <T>(stream: AsyncIterable<T>): Promise<T[]> => {
  const events: T[] = [];
  for await (const event of stream) events.push(event);
  return events;
};

describe('the official client of A2A 0.3 over gRPC', () => {
  it('sends a message and gets the task with its answer, which 1.0 shows as well', async () => {
    const task = await send('hello', { contextId: 'old' });
    expect(task).toMatchObject({ kind: 'task', contextId: 'old', status: { state: 'completed' } });
    expect(task.artifacts?.[0]?.parts).toMatchObject([{ kind: 'text', text: 'hello' }]);
    expect(task.history?.map(({ role }) => role)).toEqual(['user', 'agent']);
    expect((await service.client.get(task.id)).status.state).toBe('TASK_STATE_COMPLETED');
  });

  it('sends and gets parts of every kind, and metadata, as they are', async () => {
    const metadata = { list: [1, 'two', { three: true }], $case: 'text' };
    const bytes = Buffer.from([0, 1, 254, 255]).toString('base64');
    const parts: Part[] = [
      { kind: 'text', text: 'ä€😀' },
      { kind: 'file', file: { bytes, mimeType: 'application/octet-stream' } },
      { kind: 'file', file: { uri: 'https://example.com/file.pdf', mimeType: 'application/pdf' } },
      { kind: 'data', data: { answer: 42, $case: 'data', list: [false] } },
    ];
    const { id } = (await client.sendMessage(params(parts, { metadata }), OPTIONS)) as Task;
    const task = await client.getTask({ id }, OPTIONS);
    expect(task.artifacts?.[0]?.parts).toMatchObject(parts);
    expect(task.history?.[0]).toMatchObject({ metadata, parts });
    expect((await service.client.get(id)).history?.[0]?.parts).toMatchObject([
      { text: 'ä€😀' },
      { raw: bytes, mediaType: 'application/octet-stream' },
      { url: 'https://example.com/file.pdf', mediaType: 'application/pdf' },
      { data: { answer: 42, $case: 'data', list: [false] } },
    ]);
  });

  it('does not wait when it asks not to, and cancels', async () => {
    const task = await send('@sleep 600000', {}, { configuration: { blocking: false } });
    expect(task.status.state).toBe('working');
    expect((await client.cancelTask({ id: task.id }, OPTIONS)).status.state).toBe('canceled');
  });

  it('gets a direct reply as a message', async () => {
    const reply = await client.sendMessage(params(text('@message good day')), OPTIONS);
    expect(reply).toMatchObject({ kind: 'message', role: 'agent', parts: [{ kind: 'text', text: 'good day' }] });
    const events = await collect(client.sendMessageStream(params(text('@message good day')), OPTIONS));
    expect(events.map(({ kind }) => kind)).toEqual(['message']);
  });

  it('streams a task: the task, its chunks, and a last event that says so', async () => {
    const events = await collect(client.sendMessageStream(params(text('@stream 25 1')), OPTIONS));
    expect(events[0]?.kind).toBe('task');
    expect(events.filter(({ kind }) => kind === 'artifact-update')).toHaveLength(25);
    expect(events.at(-1)).toMatchObject({ kind: 'status-update', status: { state: 'completed' }, final: true });
    const updates = events.filter((event): event is TaskStatusUpdateEvent => event.kind === 'status-update');
    expect(updates.slice(0, -1).every(({ final }) => !final)).toBe(true);
  });

  it('answers a question, and follows the task on', async () => {
    const asked = await send('@ask Which one?');
    expect(asked.status.state).toBe('input-required');
    const following = collect(client.resubscribeTask({ id: asked.id }, OPTIONS));
    const done = await send('that one', { taskId: asked.id, contextId: asked.contextId });
    expect([done.id, done.status.state]).toEqual([asked.id, 'completed']);
    const events = await following;
    expect(events[0]).toMatchObject({ kind: 'task', id: asked.id });
    expect(events.at(-1)).toMatchObject({ kind: 'status-update', final: true });
  });

  it('cuts the history as it asks', async () => {
    const { id } = await send('hello');
    expect((await client.getTask({ id, historyLength: 1 }, OPTIONS)).history).toHaveLength(1);
    expect((await client.getTask({ id }, OPTIONS)).history).toHaveLength(2);
  });

  it('registers, reads, lists and deletes webhooks', async () => {
    const { id: taskId } = await send('hello');
    const pushNotificationConfig = {
      id: 'mine',
      url: 'https://example.com/hook',
      token: 'secret',
      authentication: { schemes: ['Bearer'], credentials: 'for-you' },
    };
    const config = { taskId, pushNotificationConfig };
    expect(await client.setTaskPushNotificationConfig(config, OPTIONS)).toEqual(config);
    const name = { id: taskId, pushNotificationConfigId: 'mine' };
    expect(await client.getTaskPushNotificationConfig(name, OPTIONS)).toEqual(config);
    expect(await client.listTaskPushNotificationConfig({ id: taskId }, OPTIONS)).toEqual([config]);
    await client.deleteTaskPushNotificationConfig(name, OPTIONS);
    expect(await client.listTaskPushNotificationConfig({ id: taskId }, OPTIONS)).toEqual([]);
  });

  it('gets the extended card in the words of 0.3', async () => {
    const card = await client.getAgentCard(OPTIONS);
    expect(card).toMatchObject({
      name: 'echo',
      protocolVersion: '0.3.0',
      url: `${service.url}/a2a`,
      capabilities: { streaming: true, pushNotifications: true },
      supportsAuthenticatedExtendedCard: true,
      securitySchemes: { bearer: { type: 'http' } },
    });
    expect(card.additionalInterfaces).toContainEqual({ url: address, transport: 'GRPC' });
    expect(card.skills).toHaveLength(1);
  });

  it('meets the errors that it knows', async () => {
    const { id } = await send('hello');
    await expect(client.getTask({ id: randomUUID() }, OPTIONS)).rejects.toMatchObject({ name: 'TaskNotFoundError' });
    await expect(client.cancelTask({ id }, OPTIONS)).rejects.toMatchObject({ name: 'TaskNotCancelableError' });
    await expect(client.getTask({ id }, {})).rejects.toThrow(/ 16 /);
    await expect(client.sendMessage(params([]), OPTIONS)).rejects.toThrow(/ 3 .*parts/);
    await expect(
      client.getTask({ id }, { serviceParameters: { ...OPTIONS.serviceParameters, 'a2a-version': '1.0' } }),
    ).rejects.toThrow(/ 9 .*1\.0/);
  });

  it('is told by the status that webhooks are not there', async () => {
    await using bare = await openService({ capabilities: { ...ALL_CAPABILITIES, pushNotifications: false } });
    const at = await bare.sealane.listenGrpc();
    // A card that promises too much makes the client ask.
    const card = { ...(await cardOf(bare.url)), capabilities: { pushNotifications: true } };
    expect(card.additionalInterfaces).toContainEqual({ url: at, transport: 'GRPC' });
    const asking = await new ClientFactory({ transports: [new GrpcTransportFactory()] }).createFromAgentCard(card);
    await expect(asking.listTaskPushNotificationConfig({ id: 'x' }, OPTIONS)).rejects.toMatchObject({
      name: 'PushNotificationNotSupportedError',
    });
  });
});

describe('the client of 1.0 that falls back to 0.3', () => {
  it('sends, reads and follows tasks by the old service', async () => {
    const card = NewCard.fromJSON({
      supportedInterfaces: [{ url: address, protocolBinding: 'GRPC', protocolVersion: '0.3' }],
      capabilities: { streaming: true },
    });
    const transports = [new NewGrpcTransportFactory({ legacyCompat: { enabled: true } })];
    const old = await new NewClientFactory({ transports }).createFromAgentCard(card);
    const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: '@ask Which?' }] };
    const task = await old.sendMessage(SendMessageRequest.fromJSON({ message }), OPTIONS);
    if (!('status' in task)) throw new Error('A task was expected.');
    expect(task.status?.state).toBe(6);
    for await (const event of old.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id: task.id }), OPTIONS)) {
      expect(event.payload?.$case).toBe('task');
      break;
    }
    await expect(old.getTask(GetTaskRequest.fromJSON({ id: randomUUID() }), OPTIONS)).rejects.toMatchObject({
      name: 'TaskNotFoundError',
    });
  });
});
