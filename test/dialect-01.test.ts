import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type A2aClient, answerOf, refusalOf } from './support/a2a-client.ts';
import { readEventStream } from './support/event-stream.ts';
import { createGateAgent } from './support/gate-agent.ts';
import { openService, type TestService } from './support/service.ts';

interface Status01 {
  readonly state: string;
  readonly message?: Message01;
  readonly timestamp?: string;
}
interface Message01 {
  readonly role: string;
  readonly parts: readonly Readonly<Record<string, unknown>>[];
}
interface Artifact01 {
  readonly index: number;
  readonly parts: Message01['parts'];
  readonly append?: boolean;
  readonly lastChunk?: boolean;
}
interface Task01 {
  readonly id: string;
  readonly sessionId: string;
  readonly status: Status01;
  readonly artifacts?: readonly Artifact01[];
  readonly history?: readonly Message01[];
  readonly metadata?: Readonly<Record<string, unknown>>;
}
interface Heard01 {
  readonly id: string;
  readonly status?: Status01;
  readonly final?: boolean;
  readonly artifact?: Artifact01;
}

let service: TestService;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service.close());

/** Clients of 0.1 know no version header. */
const UNVERSIONED = { 'a2a-version': '' };
type Headers01 = Readonly<Record<string, string>>;

const ask = <T>(method: string, params: unknown, headers: Headers01 = {}, client = service.client): Promise<T> =>
  client.call<T>(method, params, { ...UNVERSIONED, ...headers });

const hear = async (
  method: string,
  params: unknown,
  headers: Headers01 = {},
  client = service.client,
): Promise<readonly Heard01[]> => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 's', method, params });
  const response = await client.post(body, { ...UNVERSIONED, ...headers });
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  const events = await readEventStream(response).rest();
  return events.map(({ text }) => (JSON.parse(text) as { result: Heard01 }).result);
};

const say = (id: string, text: string, more: object = {}): object => ({
  id,
  message: { role: 'user', parts: [{ type: 'text', text }] },
  ...more,
});
const send = (id: string, text: string, more?: object, client?: A2aClient): Promise<Task01> =>
  ask<Task01>('tasks/send', say(id, text, more), {}, client);
const textOf = (parts: Message01['parts'] = []): string =>
  parts.map(({ text }) => (typeof text === 'string' ? text : '')).join('');

describe('a client of 0.1', () => {
  it('has a conversation inside one task that it named: a question, its answer, the end', async () => {
    const id = randomUUID();
    const metadata = { requester: 'chatbot', executor: 'echo', skill_used: 'chat', user_id: 'u1', chat_id: 'c1' };
    const first = await hear('tasks/sendSubscribe', say(id, '@ask Which flight?', { sessionId: 'chat-1', metadata }));
    expect(first.every((event) => event.id === id)).toBe(true);
    expect(first.map(({ final }) => final === true).indexOf(true)).toBe(first.length - 1);
    expect(first.at(-1)?.status?.state).toBe('input-required');
    expect(textOf(first.at(-1)?.status?.message?.parts)).toBe('Which flight?');

    const second = await hear('tasks/sendSubscribe', say(id, 'the early one', { sessionId: 'chat-1', metadata }));
    expect(second.at(-1)).toMatchObject({ id, status: { state: 'completed' }, final: true });
    expect(textOf(second.find(({ artifact }) => artifact)?.artifact?.parts)).toBe('the early one');

    const task = await ask<Task01>('tasks/get', { id, historyLength: 10 });
    expect(task).toMatchObject({ id, sessionId: 'chat-1', status: { state: 'completed' }, metadata });
    expect(task.history?.map(({ role, parts }) => [role, textOf(parts)])).toEqual([
      ['user', '@ask Which flight?'],
      ['agent', 'Which flight?'],
      ['user', 'the early one'],
      ['agent', 'the early one'],
    ]);
  });

  it('sends and waits for the whole answer, in the words of 0.1 and no others', async () => {
    const id = randomUUID();
    const task = await send(id, '@sleep 30', { sessionId: 'quiet', historyLength: 1, metadata: { a: 1 } });
    const part = { type: 'text', text: 'slept 30 ms' };
    const timestamp = expect.any(String) as string;
    expect(task).toEqual({
      id,
      sessionId: 'quiet',
      status: { state: 'completed', message: { role: 'agent', parts: [part] }, timestamp },
      artifacts: [{ parts: [part], index: 0 }],
      history: [{ role: 'agent', parts: [part] }],
      metadata: { a: 1 },
    });
  });

  it('hears statuses and artifacts and nothing else', async () => {
    const heard = await hear('tasks/sendSubscribe', say(randomUUID(), '@stream 3 1'));
    for (const event of heard) {
      const members = Object.keys(event).filter((name) => name !== 'metadata');
      expect([
        ['id', 'status', 'final'],
        ['id', 'artifact'],
      ]).toContainEqual(members);
    }
    const artifacts = heard.flatMap(({ artifact }) => (artifact ? [artifact] : []));
    expect(artifacts.map(({ index, append, lastChunk }) => [index, append, lastChunk])).toEqual([
      [0, undefined, undefined],
      [0, true, undefined],
      [0, true, true],
    ]);
  });

  it('gets a session when it brings none, and is refused in the session of another task', async () => {
    const id = randomUUID();
    const asked = await send(id, '@ask what?');
    expect(asked.sessionId).not.toBe('');
    const refused = await refusalOf(send(id, 'this', { sessionId: 'elsewhere' }));
    expect([refused.code, refused.message]).toEqual([-32602, expect.stringContaining('sessionId') as string]);
    expect((await send(id, 'this', { sessionId: asked.sessionId })).status.state).toBe('completed');
  });

  it('gets no history unless it asks for some', async () => {
    const id = randomUUID();
    await send(id, 'hello');
    for (const historyLength of [undefined, null, 0]) {
      expect(await ask<Task01>('tasks/get', { id, historyLength })).not.toHaveProperty('history');
    }
    expect((await ask<Task01>('tasks/get', { id, historyLength: 1 })).history).toHaveLength(1);
  });

  it('counts artifacts through all turns of a task', async () => {
    const gate = createGateAgent();
    await using gated = await openService({ agents: { gate: { connector: gate.connector, default: true } } });
    const id = randomUUID();
    const indexes = async (text: string, names: readonly string[], last: boolean): Promise<unknown[]> => {
      const hearing = hear('tasks/sendSubscribe', say(id, text), {}, gated.client);
      const run = await gate.started(text);
      for (const artifactId of names) {
        await run.io.emit({ kind: 'artifact', artifact: { artifactId, parts: [{ text: artifactId }] } });
      }
      run.end(last ? { state: 'completed' } : { state: 'input-required' });
      return (await hearing).flatMap(({ artifact }) => (artifact ? [[textOf(artifact.parts), artifact.index]] : []));
    };
    expect(await indexes('one', ['a', 'b', 'a'], false)).toEqual([
      ['a', 0],
      ['b', 1],
      ['a', 0],
    ]);
    expect(await indexes('two', ['c', 'b'], true)).toEqual([
      ['c', 2],
      ['b', 1],
    ]);
    // Also for a reader that comes back after the first of them has appeared.
    const later = await hear('tasks/resubscribe', { id }, { 'last-event-id': '3' }, gated.client);
    expect(later.flatMap(({ artifact }) => (artifact ? [artifact.index] : []))).toEqual([1, 0, 2, 1]);
    const task = await ask<Task01>('tasks/get', { id }, {}, gated.client);
    expect(task.artifacts?.map(({ parts, index }) => [textOf(parts), index])).toEqual([
      ['a', 0],
      ['b', 1],
      ['c', 2],
    ]);
  });

  it('cancels a running task that it follows again, and both hear of the end', async () => {
    const gate = createGateAgent();
    await using gated = await openService({ agents: { gate: { connector: gate.connector, default: true } } });
    const id = 'my task';
    const sending = send(id, 'work', {}, gated.client);
    await gate.started('work');
    const body = JSON.stringify({ jsonrpc: '2.0', id: 's', method: 'tasks/resubscribe', params: { id } });
    const following = readEventStream(await gated.client.post(body, UNVERSIONED));
    const status = await following.next();
    expect(JSON.parse(status!.text)).toMatchObject({ result: { id, status: { state: 'working' }, final: false } });
    const canceled = await ask<Task01>('tasks/cancel', { id }, {}, gated.client);
    expect([canceled.id, canceled.status.state]).toEqual([id, 'canceled']);
    expect((await sending).status.state).toBe('canceled');
    const last = (await following.rest()).at(-1);
    expect(JSON.parse(last!.text)).toMatchObject({ result: { id, status: { state: 'canceled' }, final: true } });
  });

  it('is told states that it knows', async () => {
    expect((await send(randomUUID(), '@reject no')).status.state).toBe('failed');
    expect((await send(randomUUID(), '@auth sign in')).status.state).toBe('input-required');
    expect((await send(randomUUID(), '@fail oh')).status.state).toBe('failed');
    // A stream ends with what it is told is a question, also where later versions wait for a sign-in elsewhere.
    const heard = await hear('tasks/sendSubscribe', say(randomUUID(), '@auth sign in'));
    expect(heard.at(-1)).toMatchObject({ status: { state: 'input-required' }, final: true });
  });

  it('is held for its answer as long as is configured, and gets the task as it is then', async () => {
    await using hurried = await openService({ settings: { waitMs: 50 } });
    const task = await send(randomUUID(), '@sleep 60000', {}, hurried.client);
    expect(task.status.state).toBe('working');
  });

  it('gets a direct reply as a task that has ended', async () => {
    const id = randomUUID();
    const task = await send(id, '@message good day');
    expect([task.id, task.status.state, textOf(task.status.message?.parts)]).toEqual([id, 'completed', 'good day']);
    const heard = await hear('tasks/sendSubscribe', say(randomUUID(), '@message good day'));
    expect(heard).toMatchObject([{ status: { state: 'completed' }, final: true }]);
  });

  it('sends and gets files and data', async () => {
    const parts = [
      { type: 'file', file: { bytes: 'aGk=', mimeType: 'text/plain', name: 'hi.txt' } },
      { type: 'file', file: { uri: 'https://example.org/a.png' } },
      { type: 'data', data: { n: 1 } },
    ];
    const task = await ask<Task01>('tasks/send', { id: randomUUID(), message: { role: 'user', parts } });
    expect(task.artifacts?.[0]?.parts).toEqual(parts);
  });

  it('has one webhook per task, given with a message or set later', async () => {
    const id = randomUUID();
    const authentication = { schemes: ['Bearer'], credentials: 'secret' };
    const pushNotification = { url: 'https://example.com/one', token: 'tok', authentication };
    await send(id, '@ask what?', { pushNotification });
    expect(await ask('tasks/pushNotification/get', { id })).toEqual({ id, pushNotificationConfig: pushNotification });
    const other = { id, pushNotificationConfig: { url: 'https://example.com/two' } };
    expect(await ask('tasks/pushNotification/set', other)).toEqual(other);
    expect(await ask('tasks/pushNotification/get', { id })).toEqual(other);
    const none = await refusalOf(ask('tasks/pushNotification/get', { id: 'nobody' }));
    expect(none.code).toBe(-32001);
  });

  it('repeats a send under its idempotency key and gets the first one’s task', async () => {
    const id = randomUUID();
    const key = { 'idempotency-key': randomUUID() };
    const first = await ask<Task01>('tasks/send', say(id, 'once'), key);
    const again = await ask<Task01>('tasks/send', say(id, 'once', { historyLength: 9 }), key);
    expect(again).toMatchObject({ id, sessionId: first.sessionId, status: first.status });
    expect(again.history).toHaveLength(2);
  });

  it('resumes after the last event that it has seen', async () => {
    const id = randomUUID();
    await send(id, '@stream 4 0');
    const all = await hear('tasks/resubscribe', { id }, { 'last-event-id': '0' });
    expect(all.at(-1)).toMatchObject({ status: { state: 'completed' }, final: true });
    expect(await hear('tasks/resubscribe', { id }, { 'last-event-id': '2' })).toEqual(all.slice(2));
  });

  it('reads the log of its task and deletes it, by the name that it gave it', async () => {
    const id = randomUUID();
    await send(id, '@ask what?');
    const log = await ask<{ readonly lastSeq: number; readonly events: readonly object[] }>('tasks/events', { id });
    expect(log.events).toHaveLength(log.lastSeq);
    const stranger = await service.clientOf('stranger');
    for (const method of ['tasks/events', 'tasks/delete']) {
      expect((await refusalOf(ask(method, { id }, {}, stranger))).code).toBe(-32001);
    }
    const running = randomUUID();
    const sending = hear('tasks/sendSubscribe', say(running, '@sleep 600000'));
    await expect
      .poll(async () => (await refusalOf(ask('tasks/delete', { id: running }))).message)
      .toBe(`Task "${running}" is running. Cancel it first.`);
    await ask('tasks/cancel', { id: running });
    await sending;
    expect(await ask('tasks/delete', { id })).toEqual({});
    expect((await refusalOf(ask('tasks/get', { id }))).code).toBe(-32001);
  });

  it('is refused with the codes of 0.1, and its task is called as it calls it', async () => {
    const id = 'done-01';
    await send(id, 'hello');
    await send('canceled-01', '@ask what?');
    await ask('tasks/cancel', { id: 'canceled-01' });
    const failures = {
      'a message to an ended task': [() => ask('tasks/send', say(id, 'more')), -32009],
      'a cancel of an ended task': [() => ask('tasks/cancel', { id }), -32002],
      'a cancel of a canceled task': [() => ask('tasks/cancel', { id: 'canceled-01' }), -32002],
      'following an ended task': [() => ask('tasks/resubscribe', { id }), -32009],
      'an unknown agent': [
        () => ask('tasks/send', say(randomUUID(), 'hi', { metadata: { executor: 'nobody' } })),
        -32602,
      ],
      'no parts': [() => ask('tasks/send', { id: randomUUID(), message: { role: 'user', parts: [] } }), -32602],
      'an unknown task': [() => ask('tasks/get', { id: 'never' }, { 'a2a-version': '0.1' }), -32001],
      'a method of later versions': [() => ask('message/send', {}, { 'a2a-version': '0.1' }), -32601],
    } as const;
    for (const [name, [call, code]] of Object.entries(failures)) {
      const refused = await refusalOf(call());
      expect([name, refused.code]).toEqual([name, code]);
      expect(Array.isArray(refused.data)).toBe(false);
      if (name.includes('ended task')) expect(refused.data).toMatchObject({ taskId: id });
    }
  });
});

describe('names that clients of 0.1 give', () => {
  it('belong to one owner: another who uses the same one has a task of its own', async () => {
    const [ann, bob] = [await service.clientOf('ann'), await service.clientOf('bob')];
    const id = 'task-1';
    const [hers, his] = [await send(id, '@ask ann?', {}, ann), await send(id, '@ask bob?', {}, bob)];
    expect(hers.sessionId).not.toBe(his.sessionId);
    expect((await send(id, 'for ann', {}, ann)).status.state).toBe('completed');
    const his2 = await ask<Task01>('tasks/get', { id }, {}, bob);
    expect([his2.status.state, textOf(his2.status.message?.parts)]).toEqual(['input-required', 'bob?']);
    expect((await refusalOf(ask('tasks/get', { id }, {}, await service.clientOf('carol')))).code).toBe(-32001);
  });

  it('belong to one agent where agents have addresses of their own', async () => {
    const { connector: one } = createGateAgent();
    await using two = await openService({
      agents: { echo: { connector: one, default: true }, other: { connector: createGateAgent().connector } },
    });
    const clients = ['/agents/echo', '/agents/other'].map((path) => two.client.with({ path }));
    const ids = new Set<string>();
    for (const client of clients) {
      const response = await client.post(
        JSON.stringify({ jsonrpc: '2.0', id: 's', method: 'tasks/sendSubscribe', params: say('same', 'hi') }),
        UNVERSIONED,
      );
      const stream = readEventStream(response);
      await stream.next();
      await stream.leave();
      const [task] = (await client.list()).tasks;
      ids.add(task!.id);
    }
    expect(ids.size).toBe(2);
  });

  it('make one task when they come twice at the same time', async () => {
    const gate = createGateAgent();
    await using gated = await openService({ agents: { gate: { connector: gate.connector, default: true } } });
    const outcomes = Promise.allSettled([
      send('twin', 'left', {}, gated.client),
      send('twin', 'right', {}, gated.client),
    ]);
    (await gate.startedAt(0)).end();
    const states = (await outcomes).map((outcome) =>
      outcome.status === 'fulfilled' ? outcome.value.status.state : (outcome.reason as { code: number }).code,
    );
    expect(states).toContain('completed');
    expect((await gated.client.list()).totalSize).toBe(1);
    // The other one came too late or too early for this task's only agent, and was told so.
    expect(states).toContain(-32009);
  });

  it('are for 0.1 alone: later versions see the task by its id, and nothing of its name', async () => {
    const id = 'my-name-01';
    const old = await send(id, 'hello', { sessionId: 'seen-by-all' });
    const [task] = (await service.client.list({ contextId: 'seen-by-all', includeArtifacts: true })).tasks;
    expect(task?.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(JSON.stringify(task)).not.toContain(id);
    expect([task?.status.state, answerOf(task!)]).toEqual(['TASK_STATE_COMPLETED', 'hello']);
    // Without a version, `tasks/get` speaks to whoever calls the task by its id as 0.3 does.
    expect(await ask('tasks/get', { id: task!.id })).toMatchObject({ kind: 'task', id: task!.id });
    expect(await ask('tasks/get', { id: task!.id }, { 'a2a-version': '0.1' })).toMatchObject({
      id: task!.id,
      sessionId: old.sessionId,
    });
    expect((await refusalOf(ask('tasks/get', { id }, { 'a2a-version': '0.3' }))).code).toBe(-32001);
  });

  it('can be the ids of tasks of other versions, which go on then', async () => {
    const asked = await service.client.send('@ask what?');
    const done = await send(asked.id, 'this');
    expect([done.id, done.sessionId, done.status.state]).toEqual([asked.id, asked.contextId, 'completed']);
  });
});
