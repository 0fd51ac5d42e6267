import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { SealaneError } from '#domain';
import type { TaskService } from '#engine';

import type { Dialect } from './dialect.ts';
import { ERRORS, errorForCaller } from './errors.ts';
import { context, depsOf, nobody as service, refuse } from './refusing-service.fixture.ts';
import { createRpc, type RpcAnswer } from './rpc.ts';
import { createV1Dialect } from './v1-dialect.ts';

const extension: Dialect = {
  versions: [],
  methods: new Map([['objectives/create', async () => '{"made":true}']]),
  encodeError: () => '"other words"',
};
const old: Dialect = {
  versions: ['0.3'],
  methods: new Map([['message/send', refuse]]),
  encodeError: ({ message }) => JSON.stringify({ old: message }),
};
const rpc = createRpc([createV1Dialect(depsOf(service)), old, extension]);
const reported: unknown[] = [];
const refused: string[] = [];
const admit = (): void => undefined;
const explain = (thrown: unknown) =>
  errorForCaller(thrown, 'req-7', {
    failed: (error) => reported.push(error),
    refused: (detail) => refused.push(detail),
  });
const answer = (body: string, version?: string): Promise<RpcAnswer> =>
  rpc.answer({ body, version, context, explain, admit });
interface Parsed {
  readonly jsonrpc: string;
  readonly id: unknown;
  readonly result?: unknown;
  readonly error?: {
    readonly code: number;
    readonly message: string;
    readonly data: readonly Record<string, unknown>[];
  };
}
const ask = async (body: unknown, version?: string): Promise<Parsed> => {
  const given = await answer(typeof body === 'string' ? body : JSON.stringify(body), version);
  if (given.kind !== 'single') throw new Error('a stream');
  return JSON.parse(given.text) as Parsed;
};
const request = { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 't' } };

describe('the JSON-RPC envelope', () => {
  it.each([
    ['malformed JSON', '{"jsonrpc":', -32700, null],
    ['an empty body', '', -32700, null],
    ['a batch', [request], -32600, null],
    ['an empty batch', [], -32600, null],
    ['a text', '"hi"', -32600, null],
    ['null', 'null', -32600, null],
    ['no id', { ...request, id: undefined }, -32600, null],
    ['no id and an unknown method', { ...request, id: undefined, method: 'Nope' }, -32601, null],
    ['no id and params that are a text', { ...request, id: undefined, params: 'x' }, -32602, null],
    ['an id that is an object', { ...request, id: {} }, -32600, null],
    ['an id that is a fraction', { ...request, id: 1.5 }, -32600, null],
    ['an id that no double holds', '{"jsonrpc":"2.0","id":12345678901234567890,"method":"GetTask"}', -32600, null],
    ['an id of a thousand characters', { ...request, id: 'x'.repeat(1000) }, -32600, null],
    ['another version of JSON-RPC', { ...request, jsonrpc: '1.0' }, -32600, 1],
    ['no jsonrpc', { ...request, jsonrpc: undefined }, -32600, 1],
    ['no method', { ...request, method: undefined }, -32600, 1],
    ['a method that is a number', { ...request, method: 5 }, -32600, 1],
    ['an unknown method', { ...request, method: 'Nope' }, -32601, 1],
    ['a method of every object', { ...request, method: 'constructor' }, -32601, 1],
    ['params that are a list', { ...request, params: [] }, -32602, 1],
    ['nesting that is too deep', `${'['.repeat(10_000)}${']'.repeat(10_000)}`, -32600, null],
  ])('refuses %s', async (_name, body, code, id) => {
    const { error, ...rest } = await ask(body);
    expect(rest).toEqual({ jsonrpc: '2.0', id });
    expect(error?.code).toBe(code);
    expect(error?.data[0]).toMatchObject({ '@type': 'type.googleapis.com/google.rpc.ErrorInfo' });
  });

  it('echoes a usable id, whatever else is wrong', async () => {
    for (const id of ['a', 0, -5, null, '\ud800']) expect((await ask({ ...request, id })).id).toEqual(id);
  });

  it('names the known methods to whoever asks for another', async () => {
    expect((await ask({ ...request, method: 'Nope' })).error?.message).toContain(
      'SendMessage, SendStreamingMessage, GetTask',
    );
  });

  it('answers any text at all with a valid JSON-RPC answer', async () => {
    const envelope = fc.record({
      jsonrpc: fc.constant('2.0'),
      id: fc.integer(),
      method: fc.constantFrom('SendMessage', 'GetTask', 'ListTasks', 'CancelTask', 'SubscribeToTask'),
      params: fc.jsonValue(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.string(),
          fc.json(),
          envelope.map((value) => JSON.stringify(value)),
        ),
        async (body) => {
          const parsed = await ask(body);
          expect(parsed.jsonrpc).toBe('2.0');
          expect(parsed.error?.code).toBeLessThan(-32000);
          expect(parsed.error?.code).not.toBe(ERRORS.internal.jsonRpc);
        },
      ),
    );
  });
});

describe('versions and dialects', () => {
  it('compares Major.Minor only, and goes by the method without a version', async () => {
    for (const version of ['1.0', '1.0.1', '1', ' 1.0 ', '', undefined])
      expect((await ask(request, version)).error?.code).toBe(-32001);
    for (const version of ['2.0', '99.0', '0.1', '1.1', 'x', '1.0, 1.0'])
      expect((await ask(request, version)).error?.code).toBe(-32009);
  });

  it("keeps a version to its own methods and words, and an extension's to every version", async () => {
    const legacy = { ...request, method: 'message/send' };
    expect((await ask(legacy, '1.0')).error?.code).toBe(-32601);
    expect((await ask(legacy, '0.3')).error).toEqual({ old: 'There is no such task.' });
    expect((await ask(legacy)).error).toEqual({ old: 'There is no such task.' });
    for (const version of ['1.0', '0.3', undefined]) {
      expect((await ask({ ...request, method: 'objectives/create' }, version)).result).toEqual({ made: true });
    }
  });

  it('says what is wrong with the envelope, too, in the words of the version that was asked for', async () => {
    for (const body of ['{', '[]', { ...request, method: undefined }, { ...request, method: 'Nope' }]) {
      expect((await ask(body, '0.3')).error).toEqual({ old: expect.any(String) as string });
      expect((await ask(body, '1.0')).error?.data).toHaveLength(1);
    }
  });

  it('asks whom a call is meant for where dialects share a method and no version decides', async () => {
    const named = (version: string): Dialect => ({
      versions: [version],
      methods: new Map([['tasks/get', async () => JSON.stringify(version)]]),
      encodeError: () => '0',
    });
    const [older, oldest] = [named('0.3'), named('0.1')];
    const shared = createRpc([older, oldest], async (candidates, params) => {
      expect(candidates).toEqual([older, oldest]);
      return params === null ? oldest : older;
    });
    const resultOf = async (params: unknown, version?: string): Promise<unknown> => {
      const body = JSON.stringify({ ...request, method: 'tasks/get', params });
      const given = await shared.answer({ body, version, context, explain, admit });
      return given.kind === 'single' ? (JSON.parse(given.text) as Parsed).result : undefined;
    };
    expect([await resultOf(null), await resultOf({}), await resultOf(null, '0.3'), await resultOf({}, '0.1')]).toEqual([
      '0.1',
      '0.3',
      '0.3',
      '0.1',
    ]);
  });

  it('refuses old clients that take nothing but a stream inside one, and all others in plain JSON', async () => {
    const kindFor = async (method: string, accept: string): Promise<string> => {
      const body = JSON.stringify({ ...request, method });
      const call = { body, version: undefined, context: { ...context, headers: { accept } }, explain, admit };
      return (await rpc.answer(call)).kind;
    };
    expect(await kindFor('message/send', 'text/event-stream')).toBe('stream');
    expect(await kindFor('message/send', 'text/event-stream, application/json')).toBe('single');
    expect(await kindFor('message/send', '*/*')).toBe('single');
    expect(await kindFor('GetTask', 'text/event-stream')).toBe('single');
  });

  it('answers the methods that it does not serve with their own errors', async () => {
    const capabilities = { streaming: false, pushNotifications: false, extendedCard: false };
    const bare = createRpc([createV1Dialect({ ...depsOf(service), capabilities })]);
    const codeOf = async (method: string): Promise<number | undefined> => {
      const body = JSON.stringify({ ...request, method });
      const given = await bare.answer({ body, version: undefined, context, explain, admit });
      return given.kind === 'single' ? (JSON.parse(given.text) as Parsed).error?.code : undefined;
    };
    for (const method of [
      'CreateTaskPushNotificationConfig',
      'GetTaskPushNotificationConfig',
      'ListTaskPushNotificationConfigs',
      'DeleteTaskPushNotificationConfig',
    ]) {
      expect(await codeOf(method)).toBe(-32003);
    }
    for (const method of ['SendStreamingMessage', 'SubscribeToTask', 'GetExtendedAgentCard']) {
      expect(await codeOf(method)).toBe(-32004);
    }
  });
});

describe('errors', () => {
  it('have codes of their own, those of A2A where A2A has one', () => {
    const codes = Object.values(ERRORS).map(({ jsonRpc }) => jsonRpc);
    expect(new Set(codes).size).toBe(codes.length);
    expect(ERRORS['task-not-found']).toEqual({
      jsonRpc: -32001,
      http: 404,
      grpc: 'NOT_FOUND',
      reason: 'TASK_NOT_FOUND',
    });
    const own = Object.entries(ERRORS).filter(([, { jsonRpc }]) => jsonRpc > -32100 && jsonRpc < -32009);
    expect(own.length).toBe(Object.keys(ERRORS).length - 14);
  });

  it('carry an ErrorInfo, the field at fault, and when to come back', async () => {
    const { error } = await ask({ ...request, params: {} });
    expect(error?.data).toEqual([
      {
        '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
        reason: 'INVALID_PARAMS',
        domain: 'sealane.dev',
        metadata: { field: 'id' },
      },
      {
        '@type': 'type.googleapis.com/google.rpc.BadRequest',
        fieldViolations: [{ field: 'id', description: expect.any(String) as string }],
      },
    ]);
    expect((await ask(request)).error?.data[0]).toMatchObject({ reason: 'TASK_NOT_FOUND', domain: 'a2a-protocol.org' });
    const full = createRpc([
      createV1Dialect(
        depsOf({
          ...service,
          get: async () => {
            throw new SealaneError('lane-full', 'Full.', { retryAfterMs: 1500 });
          },
        }),
      ),
    ]);
    const given = await full.answer({ body: JSON.stringify(request), version: undefined, context, explain, admit });
    expect(given.kind === 'single' && given.text).toContain('"retryDelay":"1.5s"');
  });

  it('tell nobody about bugs and the inside of the store, but log them whole', () => {
    reported.length = 0;
    const bug = new TypeError('secret');
    expect(explain(bug)).toMatchObject({ code: 'internal', facts: { correlationId: 'req-7' } });
    const locked = new SealaneError('store-locked', 'secret path');
    expect(explain(locked)).toMatchObject({ code: 'unavailable' });
    expect(explain(bug).message + explain(locked).message).not.toContain('secret');
    expect(reported.slice(0, 2)).toEqual([bug, locked]);
  });

  it('that have other words for callers are told in those, and the operator hears the rest in one line', () => {
    reported.length = 0;
    const away = new SealaneError('unavailable', 'db.example.com is away', {
      forCallers: 'Later.',
      retryAfterMs: 1000,
    });
    expect(explain(away)).toMatchObject({ code: 'unavailable', message: 'Later.', retryAfterMs: 1000 });
    expect({ refused, reported }).toEqual({ refused: ['db.example.com is away'], reported: [] });
  });
});

describe('facts beside the body', () => {
  const sendWith = async (headers: Record<string, string>, params: object = {}) => {
    const seen: Parameters<TaskService['send']>[] = [];
    const listening = createRpc([
      createV1Dialect(
        depsOf({
          ...service,
          send: async (...given) => {
            seen.push(given);
            return refuse();
          },
        }),
      ),
    ]);
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] };
    const body = JSON.stringify({ ...request, method: 'SendMessage', params: { message, ...params } });
    const given = await listening.answer({
      body,
      version: undefined,
      context: { ...context, headers },
      explain,
      admit,
    });
    return { seen: seen[0], text: given.kind === 'single' ? given.text : '' };
  };

  it('reach the service when they are well formed', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const { seen } = await sendWith({ 'idempotency-key': 'k 1', traceparent, 'sealane-ancestors': 'run-1, run-2' });
    expect(seen?.[1]).toMatchObject({
      idempotencyKey: 'k 1',
      traceparent,
      ancestors: ['run-1', 'run-2'],
      dialect: '1.0',
    });
    expect(seen?.[1].bodyHash).toMatch(/^[0-9a-f]{64}$/);
    expect((await sendWith({})).seen?.[1]).not.toHaveProperty('bodyHash');
  });

  it('make the same body hash for a repetition that wants its answer otherwise, and another for other work', async () => {
    const hashOf = async (params: object) => (await sendWith({ 'idempotency-key': 'k' }, params)).seen?.[1].bodyHash;
    expect(await hashOf({ configuration: { returnImmediately: true } })).toBe(await hashOf({}));
    expect(await hashOf({ metadata: { executor: 'other' } })).not.toBe(await hashOf({}));
  });

  it('are refused where leaving them out would be wrong, and ignored where it is right', async () => {
    const many = Array.from({ length: 33 }, (_, n) => `run-${n}`).join(',');
    for (const headers of [
      { 'idempotency-key': '' },
      { 'idempotency-key': 'x'.repeat(256) },
      { 'sealane-ancestors': many },
      { 'sealane-ancestors': 'a,,b' },
    ]) {
      expect((await sendWith(headers)).text).toContain('-32602');
    }
    for (const traceparent of [
      'nonsense',
      '00-00000000000000000000000000000000-b7ad6b7169203331-01',
      'ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    ]) {
      expect((await sendWith({ traceparent })).seen?.[1]).not.toHaveProperty('traceparent');
    }
  });

  it('pick the agent by metadata.executor, and the tenant by its member', async () => {
    expect((await sendWith({}, { metadata: { executor: 'main' } })).seen?.[1].agent).toBe('main');
    expect((await sendWith({}, { tenant: 'acme' })).seen?.[0].tenant).toBe('acme');
  });
});
