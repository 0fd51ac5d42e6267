import { randomUUID } from 'node:crypto';

import { A2AService } from '@a2a-js/sdk/server/grpc';
import { createEchoAgent } from 'sealane';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { eventually } from './support/eventually.ts';
import { createGateAgent } from './support/gate-agent.ts';
import {
  type CallOptions,
  createGrpcCaller,
  type GrpcCaller,
  type GrpcReader,
  grpcRefusalOf,
} from './support/grpc-caller.ts';
import { getBytes, readAll, sendBytes, subscribeBytes } from './support/grpc-requests.ts';
import { ADMIN_KEY, openService, type TestService } from './support/service.ts';

const REQUIRED = 'urn:test:required';
const TASK_LOG = 'https://sealane.dev/extensions/task-log/v1';

const gate = createGateAgent();
let service: TestService;
let address: string;
let caller: GrpcCaller;
beforeAll(async () => {
  service = await openService({
    agents: {
      echo: { connector: createEchoAgent(), default: true },
      gate: { connector: gate.connector },
      strict: { connector: createEchoAgent(), extensions: [{ uri: REQUIRED, required: true }] },
      broken: {
        connector: {
          ...createEchoAgent(),
          session: () => {
            throw new Error('a secret detail');
          },
        },
      },
    },
  });
  address = await service.sealane.listenGrpc();
  caller = createGrpcCaller(address, ADMIN_KEY);
});
afterAll(async () => {
  caller[Symbol.dispose]();
  await service.close();
});

const send = async (text: string, options?: CallOptions, more?: object) => {
  const { bytes } = await caller.unary(A2AService.sendMessage.path, sendBytes(text, more), options);
  const { payload } = A2AService.sendMessage.responseDeserialize(bytes);
  if (payload?.$case !== 'task') throw new Error('A task was expected.');
  return payload.value;
};
const get = async (fields: object, options?: CallOptions) =>
  A2AService.getTask.responseDeserialize(
    (await caller.unary(A2AService.getTask.path, getBytes(fields), options)).bytes,
  );
const subscribe = (id: string, options?: CallOptions): GrpcReader =>
  caller.stream(A2AService.subscribeToTask.path, subscribeBytes(id), options);
const stream = (text: string, options?: CallOptions, message?: object): GrpcReader =>
  caller.stream(A2AService.sendStreamingMessage.path, sendBytes(text, {}, message), options);
const keyOf = async (owner: string, more: object = {}): Promise<string> => {
  const made = await service.admin.post<{ key: string }>('/keys', { name: `${owner}-${randomUUID()}`, owner, ...more });
  return made.key;
};

describe('a call', () => {
  it.each<[string, string | null]>([
    ['no key', null],
    ['a wrong key', 'wrong'],
  ])('with %s is UNAUTHENTICATED, for single answers and streams', async (_what, key) => {
    for (const call of [get({ id: 'x' }, { key }), readAll(subscribe('x', { key }))]) {
      expect(await grpcRefusalOf(call)).toMatchObject({ status: 'UNAUTHENTICATED', reason: 'UNAUTHENTICATED' });
    }
  });

  it('beyond the rate of its key is RESOURCE_EXHAUSTED and says when to come back; HTTP counts the same', async () => {
    const key = await keyOf('hasty', { ratePerMinute: 2 });
    await service.client.with({ key }).list();
    await get({ id: 'x' }, { key }).catch(() => undefined);
    const refusal = await grpcRefusalOf(get({ id: 'x' }, { key }));
    expect(refusal).toMatchObject({ status: 'RESOURCE_EXHAUSTED', reason: 'RATE_LIMITED' });
    expect(refusal.details).toEqual(['ErrorInfo', 'RetryInfo']);
  });

  it("about another owner's task is answered like one about no task at all", async () => {
    const task = await send('private', { key: await keyOf('ann') });
    const key = await keyOf('bob');
    const unknown = randomUUID();
    const told = async (id: string): Promise<string> =>
      JSON.stringify([
        await grpcRefusalOf(get({ id }, { key })),
        await grpcRefusalOf(readAll(subscribe(id, { key }))),
        await grpcRefusalOf(readAll(subscribe(id, { key, metadata: { 'last-event-id': '0' } }))),
      ]).replaceAll(id, 'THE-ID');
    expect(await told(task.id)).toBe(await told(unknown));
    expect(await grpcRefusalOf(get({ id: task.id }, { key }))).toMatchObject({
      status: 'NOT_FOUND',
      reason: 'TASK_NOT_FOUND',
      domain: 'a2a-protocol.org',
    });
  });

  it.each(['1.0', '1', '1.0.7'])('that asks for version %s is answered', async (version) => {
    expect((await send('hello', { metadata: { 'a2a-version': version } })).status?.state).toBe(3);
  });

  it.each(['0.3', '2.0', 'latest'])('that asks for version %s is refused, and told what is spoken', async (version) => {
    expect(await grpcRefusalOf(send('hello', { metadata: { 'a2a-version': version } }))).toMatchObject({
      status: 'FAILED_PRECONDITION',
      reason: 'VERSION_NOT_SUPPORTED',
      facts: { supported: '1.0' },
    });
  });

  it('hears which of the extensions it asked for are active', async () => {
    const metadata = { 'a2a-extensions': `urn:unknown, ${TASK_LOG}` };
    const { initial } = await caller.unary(A2AService.sendMessage.path, sendBytes('hello'), { metadata });
    expect(initial.get('a2a-extensions')).toEqual([TASK_LOG]);
    const reader = stream('hello', { metadata });
    await readAll(reader);
    expect((await reader.initial).get('a2a-extensions')).toEqual([TASK_LOG]);
  });

  it('to an agent that requires an extension must ask for it, whichever way the agent is named', async () => {
    const refused = { status: 'FAILED_PRECONDITION', reason: 'EXTENSION_SUPPORT_REQUIRED' };
    const metadata = { 'sealane-agent': 'strict' };
    expect(await grpcRefusalOf(send('hello', { metadata }))).toMatchObject(refused);
    expect(await grpcRefusalOf(send('hello', {}, { metadata: { executor: 'strict' } }))).toMatchObject(refused);
    const task = await send('hello', { metadata: { ...metadata, 'a2a-extensions': REQUIRED } });
    expect(task.status?.state).toBe(3);
  });

  it('with sealane-agent goes to that agent and reaches only its tasks', async () => {
    const metadata = { 'sealane-agent': 'gate' };
    const sending = send('by name', { metadata });
    (await gate.started('by name')).end();
    const { id } = await sending;
    expect((await get({ id }, { metadata })).id).toBe(id);
    expect(await grpcRefusalOf(get({ id }, { metadata: { 'sealane-agent': 'echo' } }))).toMatchObject({
      reason: 'TASK_NOT_FOUND',
    });
    expect(await grpcRefusalOf(get({ id }, { metadata: { 'sealane-agent': 'nobody' } }))).toMatchObject({
      status: 'NOT_FOUND',
      reason: 'AGENT_NOT_FOUND',
    });
  });

  it('sees the tasks of its tenant only', async () => {
    const { id } = await send('here', {}, { tenant: 'one' });
    expect((await get({ id, tenant: 'one' })).id).toBe(id);
    expect(await grpcRefusalOf(get({ id, tenant: 'two' }))).toMatchObject({ reason: 'TASK_NOT_FOUND' });
  });

  it('repeated under its idempotency key attaches to the first task, over HTTP as well', async () => {
    const key = randomUUID();
    const message = { messageId: 'same', role: 'ROLE_USER', parts: [{ text: 'once' }] };
    const options = { metadata: { 'idempotency-key': key } };
    const first = await send('', options, { message });
    expect((await send('', options, { message })).id).toBe(first.id);
    const again = await service.client.send('', { message, headers: { 'idempotency-key': key } });
    expect(again.id).toBe(first.id);
    expect(await grpcRefusalOf(send('another', options))).toMatchObject({
      status: 'ALREADY_EXISTS',
      reason: 'IDEMPOTENCY_CONFLICT',
    });
  });

  it('that breaks something here is INTERNAL, with an id for the operator and nothing else', async () => {
    const refusal = await grpcRefusalOf(send('hello', { metadata: { 'sealane-agent': 'broken' } }));
    expect(refusal).toMatchObject({ status: 'INTERNAL', reason: 'INTERNAL' });
    expect(refusal.message).toContain(refusal.facts['correlationId']);
    expect(JSON.stringify(refusal)).not.toContain('secret');
  });

  it('is counted by method and outcome, and so are open streams', async () => {
    const metrics = async (): Promise<string> => await (await fetch(`${service.url}/metrics`)).text();
    const reader = subscribe((await send('@sleep 600000', {}, { configuration: { returnImmediately: true } })).id);
    await reader.initial;
    expect(await metrics()).toMatch(/^sealane_streams [1-9]/m);
    reader.call.on('error', () => undefined).cancel();
    await eventually(async () => expect(await metrics()).toMatch(/^sealane_streams 0$/m));
    expect(await metrics()).toMatch(/sealane_call_seconds_count{method="GetTask",outcome="unauthenticated"} [1-9]/);
  });
});

describe('a message', () => {
  it('with something wrong in it is INVALID_ARGUMENT and names the field', async () => {
    const refusal = await grpcRefusalOf(send('hello', {}, { configuration: { historyLength: -1 } }));
    expect(refusal).toMatchObject({
      status: 'INVALID_ARGUMENT',
      reason: 'INVALID_PARAMS',
      facts: { field: 'configuration.historyLength' },
    });
    expect(refusal.details).toEqual(['ErrorInfo', 'BadRequest']);
  });

  it('that says what cannot stand in a header is refused all the same', async () => {
    const id = `ä\u{1f600}${'é'.repeat(100)}`;
    const refusal = await grpcRefusalOf(get({ id }));
    expect(refusal).toMatchObject({ status: 'NOT_FOUND', facts: { taskId: id } });
    expect(refusal.message).toContain(id);
  });

  it.each<[string, Buffer]>([
    ['ends early', Buffer.from([0x0a, 0xff, 0x01, 0x41])],
    ['is no protobuf', Buffer.from('{"id":"x"}')],
    ['has a length beyond all bounds', Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f])],
  ])('that %s is INVALID_ARGUMENT', async (_what, bytes) => {
    const refusal = await grpcRefusalOf(caller.unary(A2AService.sendMessage.path, bytes));
    expect(refusal.status).toBe('INVALID_ARGUMENT');
  });

  it('that is empty is INVALID_ARGUMENT, and not taken for none', async () => {
    const refusal = await grpcRefusalOf(caller.unary(A2AService.sendMessage.path, Buffer.alloc(0)));
    expect(refusal).toMatchObject({ status: 'INVALID_ARGUMENT', reason: 'INVALID_PARAMS' });
  });

  it.each([65, 2000, 90_000])(
    'that nests %i levels deep is INVALID_ARGUMENT, and the next one is answered',
    async (depth) => {
      const refusal = await grpcRefusalOf(caller.unary(A2AService.cancelTask.path, nested(depth)));
      expect(refusal.status).toBe('INVALID_ARGUMENT');
      expect((await send('hello')).status?.state).toBe(3);
    },
  );

  it('of one byte more than the limit is RESOURCE_EXHAUSTED; of the limit itself it is read', async () => {
    const limit = 1024 * 1024;
    const padding = sendBytes('').length + 3;
    const fits = sendBytes('x'.repeat(limit - padding - 40));
    expect(fits.length).toBeLessThanOrEqual(limit);
    await caller.unary(A2AService.sendMessage.path, fits);
    const tooLarge = sendBytes('x'.repeat(limit));
    expect(await grpcRefusalOf(caller.unary(A2AService.sendMessage.path, tooLarge))).toMatchObject({
      status: 'RESOURCE_EXHAUSTED',
    });
  });

  it('to a method that does not exist is UNIMPLEMENTED', async () => {
    const call = caller.unary('/lf.a2a.v1.A2AService/DropEverything', Buffer.alloc(0));
    expect(await grpcRefusalOf(call)).toMatchObject({ status: 'UNIMPLEMENTED' });
  });
});

/** A CancelTaskRequest whose metadata is lists in lists, written from the inside out. */
const nested = (depth: number): Buffer => {
  const field = (tag: number, parts: readonly Buffer[], length: number): Buffer[] => {
    const head: number[] = [tag];
    let rest = length;
    for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) head.push((rest % 0x80) + 0x80);
    return [Buffer.from([...head, rest]), ...parts];
  };
  // Heads are gathered back to front, so that a deep message takes no quadratic time.
  const heads: Buffer[] = [];
  let length = 2;
  const innermost = Buffer.from([0x20, 0x01]);
  for (let level = 0; level < depth; level += 1) {
    for (const tag of [0x0a, 0x32]) {
      const [head] = field(tag, [], length) as [Buffer];
      heads.push(head);
      length += head.length;
    }
  }
  const value = Buffer.concat([...heads.toReversed(), innermost]);
  const wrapped = Buffer.concat(field(0x12, [value], value.length));
  const entry = Buffer.concat([Buffer.from([0x0a, 0x01, 0x61]), wrapped]);
  const struct = Buffer.concat(field(0x0a, [entry], entry.length));
  const id = Buffer.from([0x12, 0x01, 0x78]);
  return Buffer.concat([id, ...field(0x1a, [struct], struct.length)]);
};

describe('a stream', () => {
  it('says the number of its first item, and is resumed after any other without loss', async () => {
    const reader = stream('@stream 20 0');
    const items = await readAll(reader);
    const first = Number((await reader.initial).get('sealane-first-event')[0]);
    const { id } = (items[0] as { task: { id: string } }).task;
    const whole = await readAll(subscribe(id, { metadata: { 'last-event-id': '0' } }));
    // The task as the first item stands for all events up to its number.
    expect(whole.slice(first)).toEqual(items.slice(1));
    for (const seen of [1, Math.floor(items.length / 2), items.length - 1]) {
      const lastEventId = first + seen;
      const resumed = subscribe(id, { metadata: { 'last-event-id': String(lastEventId) } });
      expect(await readAll(resumed)).toEqual(items.slice(seen + 1));
      if (seen + 1 < items.length) {
        expect((await resumed.initial).get('sealane-first-event')).toEqual([String(lastEventId + 1)]);
      }
    }
  });

  it('that is refused later than its beginning could be is refused by its status', async () => {
    const { id } = await send('hello');
    expect(await grpcRefusalOf(readAll(subscribe(id)))).toMatchObject({
      status: 'FAILED_PRECONDITION',
      reason: 'UNSUPPORTED_OPERATION',
    });
    expect(await grpcRefusalOf(readAll(subscribe(id, { metadata: { 'last-event-id': '999' } })))).toMatchObject({
      status: 'INVALID_ARGUMENT',
      facts: { field: 'Last-Event-ID' },
    });
  });

  it('that is cut leaves its task running, and so does a call that is given up', async () => {
    const metadata = { 'sealane-agent': 'gate' };
    const reader = stream('cut', { metadata });
    reader.call.on('error', () => undefined);
    await reader.initial;
    const cut = await gate.started('cut');
    reader.call.cancel();
    const givenUp = await grpcRefusalOf(send('given up', { metadata, deadlineMs: 300 }));
    expect(givenUp.status).toBe('DEADLINE_EXCEEDED');
    const late = await gate.started('given up');
    for (const run of [cut, late]) {
      expect(run.io.signal.aborted).toBe(false);
      run.end();
      await eventually(async () => expect((await get({ id: run.turn.taskId })).status?.state).toBe(3));
    }
  });

  it('tells all of its readers the same', async () => {
    const metadata = { 'sealane-agent': 'gate' };
    const { id } = await send('for many', { metadata }, { configuration: { returnImmediately: true } });
    const readers = Array.from({ length: 5 }, () => subscribe(id));
    await Promise.all(readers.map(({ initial }) => initial));
    const run = await gate.started('for many');
    for (let number = 0; number < 50; number += 1) {
      await run.io.emit({
        kind: 'artifact',
        artifact: { artifactId: 'a', parts: [{ text: `${number}` }] },
        append: number > 0,
      });
    }
    run.end();
    const [one, ...others] = await Promise.all(readers.map(readAll));
    expect(one).toHaveLength(52);
    for (const other of others) expect(other).toEqual(one);
  });
});
