import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

import { createEchoAgent } from 'sealane';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { answerOf, refusalOf } from './support/a2a-client.ts';
import { isState, type StreamEvent, stateOf } from './support/event-stream.ts';
import { eventually } from './support/eventually.ts';
import { createGateAgent } from './support/gate-agent.ts';
import { openService, type TestService } from './support/service.ts';

const gate = createGateAgent();
let service: TestService;
beforeAll(async () => {
  service = await openService({
    agents: {
      echo: { connector: createEchoAgent(), default: true, public: true, concurrency: 256 },
      gate: { connector: gate.connector },
    },
    http: { heartbeatMs: 50 },
  });
});
afterAll(() => service.close());

const CHUNKS = 100;

/** A stream whose agent goes on talking until the test ends it, and for a while at least. */
const streamTalk = async (text: string) => {
  const sending = await service.client.with({ path: '/agents/gate' }).stream(text);
  const run = await gate.started(text);
  let isOver = false;
  const talking = (async () => {
    for (let number = 1; !isOver || number <= CHUNKS; number += 1) {
      const artifact = { artifactId: 'answer', parts: [{ text: `chunk ${number}\n` }] };
      await run.io.emit({ kind: 'artifact', artifact, append: number > 1 });
      await delay(1);
    }
    run.end();
  })();
  const stop = async (): Promise<void> => {
    isOver = true;
    await talking;
  };
  return { sending, first: (await sending.next())!, stop };
};

const idsOf = (events: readonly StreamEvent[]): readonly (number | undefined)[] => events.map(({ id }) => id);
const upTo = (last: number, from = 1): readonly number[] =>
  Array.from({ length: last - from + 1 }, (_, index) => from + index);
const chunkOf = ({ artifactUpdate }: StreamEvent): string => artifactUpdate?.artifact.parts[0]?.text ?? '';

describe('the readers of a task', () => {
  it('get the same events with the same numbers in the same order, whoever they are', async () => {
    const { client } = service;
    const { sending, first, stop } = await streamTalk('to all');
    const id = first.task!.id;
    const others = await Promise.all([client.subscribe(id), client.subscribe(id), client.subscribe(id, 0)]);
    await stop();
    const [sent, one, two, replayed] = await Promise.all([sending.rest(), ...others.map((stream) => stream.rest())]);

    const whole = replayed!;
    expect(idsOf(whole)).toEqual(upTo(whole.length));
    const tail = (events: readonly StreamEvent[]): readonly string[] => events.map(({ text }) => text);
    // A stream begins with a snapshot of the task, numbered like its last event; from there on all are the same.
    expect(tail(sent)).toEqual(tail(whole.slice(first.id)));
    for (const reader of [one!, two!]) {
      const [snapshot, ...rest] = reader;
      expect(snapshot!.task!.id).toBe(id);
      expect(tail(rest)).toEqual(tail(whole.slice(snapshot!.id)));
    }
    expect(stateOf(whole.at(-1)!)).toBe('TASK_STATE_COMPLETED');
  });

  it('that begin at any moment miss nothing and see nothing twice', async () => {
    const { client } = service;
    const { sending, first, stop } = await streamTalk('at any moment');
    const { task } = first;
    const readers: Promise<readonly StreamEvent[]>[] = [];
    const subscribed: Promise<unknown>[] = [];
    const isOver = sending.rest();
    for (let count = 0; count < 60; count += 1) {
      await delay(Math.random() * 8);
      const stream = client.subscribe(task!.id);
      const reader = stream.then((open) => open.rest());
      // Whoever comes too late is refused, perhaps before the others are looked at.
      reader.catch(() => undefined);
      subscribed.push(stream);
      readers.push(reader);
    }
    await Promise.all(subscribed.slice(0, 40));
    await stop();
    await isOver;
    const whole = answerOf(await client.get(task!.id));
    for (const events of await Promise.all(readers.map((reader) => reader.catch(() => [])))) {
      // Whoever came too late was refused; all others have the whole answer, put together from snapshot and events.
      const [snapshot, ...rest] = events;
      if (!snapshot) continue;
      expect(idsOf(rest)).toEqual(upTo(rest.at(-1)!.id!, snapshot.id! + 1));
      expect(answerOf(snapshot.task!) + rest.map(chunkOf).join('')).toBe(whole);
    }
    expect((await Promise.allSettled(readers)).filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(
      20,
    );
  });

  it('that leave never stop a task: not a stream, not a subscription, not a call that waits', async () => {
    const gate = createGateAgent();
    await using gated = await openService({ agents: { gate: { connector: gate.connector } } });
    const { client } = gated;
    const streaming = await client.stream('streamed');
    const { task } = (await streaming.next())!;
    const subscribed = await client.subscribe(task!.id);
    await subscribed.next();
    const waiting = new AbortController();
    const call = fetch(`${gated.url}/a2a`, {
      method: 'POST',
      signal: waiting.signal,
      headers: { authorization: 'Bearer the-admin-key', 'content-type': 'application/json' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'SendMessage',
        params: {
          message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'awaited' }], contextId: 'awaited' },
        },
      }),
    });
    await gate.started('awaited');
    await Promise.all([streaming.leave(), subscribed.leave()]);
    waiting.abort();
    await expect(call).rejects.toThrow();

    const runs = await Promise.all([gate.started('streamed'), gate.started('awaited')]);
    // Had anybody's leaving been taken for a wish to stop, the runs would know by the time the service answers again.
    await client.list();
    expect(runs.map(({ io }) => io.signal.aborted)).toEqual([false, false]);
    const watching = await Promise.all(runs.map(({ turn }) => client.subscribe(turn.taskId)));
    for (const run of runs) run.end();
    for (const stream of watching) await stream.until(isState('TASK_STATE_COMPLETED'));
  });

  it('hear a heartbeat while nothing happens', async () => {
    const stream = await service.client.stream('@sleep 60000');
    const { task } = (await stream.next())!;
    expect(stream.headers.get('x-accel-buffering')).toBe('no');
    const next = stream.next();
    await eventually(() => expect(stream.comments.length).toBeGreaterThan(2));
    await service.client.cancel(task!.id);
    await next;
  });
});

describe('Last-Event-ID', () => {
  it('replays what was missed, without a snapshot, also of a task that has ended', async () => {
    const { client } = service;
    const whole = await (await client.stream('@stream 40 0')).rest();
    const { task } = whole[0]!;
    const last = whole.at(-1)!.id!;
    for (const seen of [0, 1, 7, last - 1]) {
      const missed = await (await client.subscribe(task!.id, seen)).rest();
      expect(idsOf(missed)).toEqual(upTo(last, seen + 1));
      expect(missed.every((event) => event.task === undefined)).toBe(true);
    }
    expect(await (await client.subscribe(task!.id, last)).rest()).toEqual([]);
  });

  it.each(['garbage', '-1', '1.5', '1e3', '0x10', '9'.repeat(16), '1, 2'])(
    'that is no number (%s) is refused',
    async (value) => {
      const { id } = await service.client.send('hello');
      const refusal = await refusalOf(service.client.subscribe(id, value));
      expect(refusal.code).toBe(-32602);
      expect(refusal.data[0]?.metadata).toMatchObject({ field: 'Last-Event-ID' });
    },
  );

  it('later than the last event is refused', async () => {
    const { id } = await service.client.send('hello');
    const refusal = await refusalOf(service.client.subscribe(id, 1_000_000));
    expect(refusal.code).toBe(-32602);
    expect(refusal.message).toContain('1000000');
  });

  it('is what makes an ended task readable: without it the answer is -32004, of an unknown task -32001', async () => {
    const { client } = service;
    const { id } = await client.send('hello');
    expect((await refusalOf(client.subscribe(id))).code).toBe(-32004);
    expect((await refusalOf(client.subscribe(randomUUID()))).code).toBe(-32001);
    expect((await refusalOf(client.subscribe(randomUUID(), 1))).code).toBe(-32001);
  });
});

describe('a question', () => {
  it('ends the stream of the send that led to it', async () => {
    const events = await (await service.client.stream('@ask Which one?')).rest();
    expect(stateOf(events.at(-1)!)).toBe('TASK_STATE_INPUT_REQUIRED');
  });

  it('does not end a subscription, which goes on to the end of the task', async () => {
    const gate = createGateAgent();
    await using gated = await openService({ agents: { gate: { connector: gate.connector } } });
    const { client } = gated;
    const task = await client.submit('question');
    const watching = await client.subscribe(task.id);
    const run = await gate.started('question');
    run.end({ state: 'input-required', message: run.io.say('which?') });
    await watching.until(isState('TASK_STATE_INPUT_REQUIRED'));
    const answering = await client.stream('answer', { taskId: task.id });
    (await gate.started('answer')).end();
    const rest = await watching.rest();
    expect(rest.map(stateOf)).toEqual(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING', 'TASK_STATE_COMPLETED']);
    expect((await answering.rest()).map(stateOf).at(-1)).toBe('TASK_STATE_COMPLETED');
  });

  it('for a sign-in leaves the stream of its send open until the task has ended', async () => {
    const { client } = service;
    const stream = await client.stream('@auth Please sign in.');
    const { task } = (await stream.next())!;
    await stream.until(isState('TASK_STATE_AUTH_REQUIRED'));
    const done = await client.send('signed in', { taskId: task!.id });
    expect(done.status.state).toBe('TASK_STATE_COMPLETED');
    expect(stateOf((await stream.rest()).at(-1)!)).toBe('TASK_STATE_COMPLETED');
  });
});
