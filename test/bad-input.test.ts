import { randomUUID } from 'node:crypto';

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { refusalOf } from './support/a2a-client.ts';
import { openService, type TestService } from './support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service.close());

afterEach(async () => {
  // Whatever was sent, the service is there as before.
  expect((await service.client.send('still there?')).status.state).toBe('TASK_STATE_COMPLETED');
});

const MESSAGE = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hello' }] };
const rpc = (method: unknown, params: unknown, extra: object = {}): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 7, method, params, ...extra });
const send = (message: object, extra: object = {}): string =>
  rpc('SendMessage', { message: { ...MESSAGE, ...message }, ...extra });
const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

/** What every refusal looks like, whoever words it. */
const expectRefusal = async (response: Response, code: number): Promise<{ message: string; field?: string }> => {
  const text = await response.text();
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(response.status).toBeLessThan(500);
  expect(text).not.toMatch(/<html|\bat .*\.(ts|js):\d+|node_modules/i);
  const { jsonrpc, error, result } = JSON.parse(text) as {
    jsonrpc: string;
    result?: unknown;
    error: { code: number; message: string; data: { reason: string; metadata: { field?: string } }[] };
  };
  expect(jsonrpc).toBe('2.0');
  expect(result).toBeUndefined();
  expect(error.code).toBe(code);
  expect(error.message.length).toBeGreaterThan(10);
  expect(error.data[0]).toMatchObject({
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason: expect.stringMatching(/^[A-Z_]+$/),
  });
  const { field } = error.data[0]!.metadata;
  return { message: error.message, ...(field !== undefined && { field }) };
};

describe('a body that is no request is refused', () => {
  it.each<[string, string, number]>([
    ['nothing', '', -32700],
    ['half of JSON', '{"jsonrpc":"2.0","id":1,', -32700],
    ['text', 'hello', -32700],
    ['JSON with comments', '{/* */}', -32700],
    ['a NUL byte', '\0', -32700],
    ['a number', '1', -32600],
    ['null', 'null', -32600],
    ['a batch', `[${rpc('ListTasks', {})},${rpc('ListTasks', {})}]`, -32600],
    ['an empty batch', '[]', -32600],
    ['a notification', JSON.stringify({ jsonrpc: '2.0', method: 'ListTasks' }), -32600],
    ['an id that is an object', rpc('ListTasks', {}, { id: {} }), -32600],
    ['an id that is a fraction', rpc('ListTasks', {}, { id: 1.5 }), -32600],
    ['another JSON-RPC', rpc('ListTasks', {}, { jsonrpc: '1.0' }), -32600],
    ['no method', JSON.stringify({ jsonrpc: '2.0', id: 1 }), -32600],
    ['a method that is a number', rpc(3, {}), -32600],
    ['an unknown method', rpc('DropTables', {}), -32601],
    ['the name of a method of objects', rpc('constructor', {}), -32601],
    ['deep nesting', `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":${nested(100)}}`, -32600],
    ['very deep nesting', nested(100_000), -32600],
    ['brackets that never close', '['.repeat(100_000), -32600],
  ])('%s', async (_what, body, code) => {
    await expectRefusal(await service.client.post(body), code);
  });

  it('bytes that are no UTF-8', async () => {
    const response = await fetch(`${service.url}/a2a`, {
      method: 'POST',
      headers: { authorization: 'Bearer the-admin-key', 'content-type': 'application/json' },
      body: Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]),
    });
    await expectRefusal(response, -32700);
  });

  it('too many bytes, announced or not', async () => {
    const huge = send({ parts: [{ text: 'x'.repeat(2 * 1024 * 1024) }] });
    const announced = await service.client.post(huge);
    expect(announced.status).toBe(413);
    expect((await expectRefusal(announced, -32013)).message).toContain('1048576');
    const chunked = await fetch(`${service.url}/a2a`, {
      method: 'POST',
      headers: { authorization: 'Bearer the-admin-key', 'content-type': 'application/json' },
      body: new Blob([huge]).stream(),
      duplex: 'half',
    });
    expect(chunked.status).toBe(413);
    await expectRefusal(chunked, -32013);
  });

  it.each([
    'text/plain',
    'application/xml',
    'multipart/form-data; boundary=x',
    'application/x-www-form-urlencoded',
    'application/json; charset=utf-16',
    'nonsense',
    '',
  ])('the content type "%s"', async (type) => {
    const response = await service.client.post(send({}), { 'content-type': type });
    expect(response.status).toBe(415);
    await expectRefusal(response, -32005);
  });

  it.each(['0.0', '0.4', '1.1', '2.0', 'one', '1.0; DROP TABLE tasks', '-1.0', '99999999.0'])(
    'version %s',
    async (version) => {
      await expectRefusal(await service.client.post(send({}), { 'a2a-version': version }), -32009);
    },
  );
});

describe('parameters that are wrong are refused, and the field is named', () => {
  it.each<[string, string, string]>([
    ['no params', rpc('SendMessage', undefined), 'params'],
    ['params that are an array', rpc('SendMessage', []), 'params'],
    ['no message', rpc('SendMessage', {}), 'message'],
    ['a message that is a text', rpc('SendMessage', { message: 'hello' }), 'message'],
    ['no messageId', send({ messageId: undefined }), 'message.messageId'],
    ['an empty messageId', send({ messageId: '' }), 'message.messageId'],
    ['a messageId that is a number', send({ messageId: 5 }), 'message.messageId'],
    ['a messageId that is too long', send({ messageId: 'x'.repeat(129) }), 'message.messageId'],
    ['a messageId with a line break', send({ messageId: 'a\nb' }), 'message.messageId'],
    ['no role', send({ role: undefined }), 'message.role'],
    ['an unknown role', send({ role: 'ROLE_ADMIN' }), 'message.role'],
    ['the role of an agent', send({ role: 'ROLE_AGENT' }), 'message.role'],
    ['no parts', send({ parts: undefined }), 'message.parts'],
    ['empty parts', send({ parts: [] }), 'message.parts'],
    ['parts that are a text', send({ parts: 'hello' }), 'message.parts'],
    ['too many parts', send({ parts: Array.from({ length: 101 }, () => ({ text: 'x' })) }), 'message.parts'],
    ['a part that is null', send({ parts: [null] }), 'message.parts[0]'],
    ['a part with nothing in it', send({ parts: [{ text: 'a' }, {}] }), 'message.parts[1]'],
    ['a part that is two things', send({ parts: [{ text: 'a', url: 'https://example.com' }] }), 'message.parts[0]'],
    ['a text that is a number', send({ parts: [{ text: 1 }] }), 'message.parts[0].text'],
    ['bytes that are no base64', send({ parts: [{ raw: '!!!' }] }), 'message.parts[0].raw'],
    ['an address that is none', send({ parts: [{ url: 'not a url' }] }), 'message.parts[0].url'],
    ['a NUL in a text', send({ parts: [{ text: 'a\0b' }] }), 'message.parts[0].text'],
    ['half a character in a text', send({ parts: [{ text: '\ud800' }] }), 'message.parts[0].text'],
    ['half a character in data', send({ parts: [{ data: { a: '\udc00' } }] }), 'message.parts[0].data.a'],
    ['a NUL in metadata', send({ metadata: { key: 'a\0' } }), 'message.metadata.key'],
    ['metadata that is an array', send({ metadata: [] }), 'message.metadata'],
    ['a contextId that is too long', send({ contextId: 'x'.repeat(129) }), 'message.contextId'],
    ['a contextId that is an object', send({ contextId: {} }), 'message.contextId'],
    ['a configuration that is a text', send({}, { configuration: 'now' }), 'configuration'],
    [
      'a flag that is a text',
      send({}, { configuration: { returnImmediately: 'yes' } }),
      'configuration.returnImmediately',
    ],
    [
      'a negative historyLength of a send',
      send({}, { configuration: { historyLength: -1 } }),
      'configuration.historyLength',
    ],
    ['a negative historyLength', rpc('GetTask', { id: 'x', historyLength: -1 }), 'historyLength'],
    ['a historyLength that is a fraction', rpc('GetTask', { id: 'x', historyLength: 0.5 }), 'historyLength'],
    ['no id', rpc('GetTask', {}), 'id'],
    ['an id that is null', rpc('CancelTask', { id: null }), 'id'],
    ['an id that is a list', rpc('SubscribeToTask', { id: ['a'] }), 'id'],
    ['an id with a NUL', rpc('GetTask', { id: 'a\0' }), 'id'],
    ['a page of none', rpc('ListTasks', { pageSize: 0 }), 'pageSize'],
    ['a page of 101', rpc('ListTasks', { pageSize: 101 }), 'pageSize'],
    ['a negative page', rpc('ListTasks', { pageSize: -5 }), 'pageSize'],
    ['a page that is a word', rpc('ListTasks', { pageSize: 'many' }), 'pageSize'],
    ['a page token of nobody', rpc('ListTasks', { pageToken: 'garbage' }), 'pageToken'],
    [
      'a page token that is JSON of something else',
      rpc('ListTasks', { pageToken: Buffer.from('[1,2]').toString('base64url') }),
      'pageToken',
    ],
    ['an unknown state', rpc('ListTasks', { status: 'TASK_STATE_DANCING' }), 'status'],
    ['a time that is none', rpc('ListTasks', { statusTimestampAfter: 'yesterday' }), 'statusTimestampAfter'],
  ])('%s', async (_what, body, field) => {
    const before = (await service.client.list()).totalSize;
    const refusal = await expectRefusal(await service.client.post(body), -32602);
    expect(refusal.field).toBe(field);
    expect((await service.client.list()).totalSize).toBe(before);
  });
});

describe('names of things that are not there are refused', () => {
  it.each(['GetTask', 'CancelTask', 'SubscribeToTask'])('an unknown task of %s', async (method) => {
    for (const id of [randomUUID(), 'nonsense', "' OR 1=1 --", '../../etc/passwd', '🦭', '__proto__']) {
      await expectRefusal(await service.client.post(rpc(method, { id })), -32001);
    }
  });

  it('an unknown agent, by address or by metadata', async () => {
    const byAddress = await service.client.with({ path: '/agents/nobody' }).post(send({}));
    expect(byAddress.status).toBe(404);
    await expectRefusal(byAddress, -32012);
    await expectRefusal(await service.client.post(send({}, { metadata: { executor: 'nobody' } })), -32012);
  });

  it('streams, push notifications and the extended card, where they are not offered', async () => {
    const capabilities = { streaming: false, pushNotifications: false, extendedCard: false };
    await using bare = await openService({ capabilities });
    for (const method of [
      'CreateTaskPushNotificationConfig',
      'GetTaskPushNotificationConfig',
      'ListTaskPushNotificationConfigs',
      'DeleteTaskPushNotificationConfig',
    ]) {
      expect((await refusalOf(bare.client.call(method, { taskId: 'x', id: 'y' }))).code).toBe(-32003);
    }
    for (const method of ['GetExtendedAgentCard', 'SendStreamingMessage', 'SubscribeToTask']) {
      expect((await refusalOf(bare.client.call(method, {}))).code).toBe(-32004);
    }
    const inSend = send({}, { configuration: { taskPushNotificationConfig: { url: 'https://example.com' } } });
    await expectRefusal(await bare.client.post(inSend), -32003);
  });
});
