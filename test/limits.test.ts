import { type AgentConnector, createEchoAgent, sessionKeyOf, textOf } from 'sealane';
import { openStore, type Storage } from 'sealane/store';
import { describe, expect, it } from 'vitest';

import { answerOf, refusalOf, statusTextOf } from './support/a2a-client.ts';
import { createGateAgent } from './support/gate-agent.ts';
import { openService } from './support/service.ts';

/** An agent that does what the test says, once per message. */
const agentOf = (run: AgentConnector['run']): AgentConnector => ({
  kind: 'scripted',
  session: sessionKeyOf,
  run,
  stop: async () => 'dead',
  close: async () => undefined,
});

const KIB = 1024;

describe('an answer that is too large', () => {
  it.each([
    ['eventBytes', '@big 3000'],
    ['artifactBytes', '@stream 30 0'],
    ['taskBytes', '@stream 60 0'],
  ] as const)(
    'for limits.%s fails its task with the reason too-large, and the service goes on',
    async (limit, text) => {
      const large = { eventBytes: 100 * KIB, artifactBytes: 100 * KIB, taskBytes: 100 * KIB };
      await using service = await openService({ settings: { ...large, [limit]: 2 * KIB } });
      const { client } = service;
      const failed = await client.send(text);
      expect(failed).toMatchObject({ status: { state: 'TASK_STATE_FAILED' }, metadata: { reason: 'too-large' } });
      expect(statusTextOf(failed)).toBe(`The answer is larger than limits.${limit} allows (2048 bytes).`);
      expect(answerOf(failed).length).toBeLessThanOrEqual(2 * KIB);
      expect((await client.send('small')).status.state).toBe('TASK_STATE_COMPLETED');
    },
  );

  it('is copied into the last status only as far as that makes sense', async () => {
    await using service = await openService();
    const task = await service.client.send('@big 100000');
    expect(answerOf(task)).toHaveLength(100_000);
    expect(statusTextOf(task)).toHaveLength(16 * KIB);
  });

  it('is copied there in whole characters', async () => {
    const smiling = agentOf(async (_turn, io) => {
      await io.emit({ kind: 'artifact', artifact: { artifactId: 'a', parts: [{ text: `x${'😀'.repeat(9000)}` }] } });
      return { state: 'completed' };
    });
    await using service = await openService({ agents: { smiling } });
    const text = statusTextOf(await service.client.send('hi'));
    expect(text.isWellFormed()).toBe(true);
    expect(text).toHaveLength(16 * KIB - 1);
  });

  it('is copied there as it is at last, when its agent has given parts of it anew', async () => {
    const revising = agentOf(async (_turn, io) => {
      const say = (artifactId: string, text: string, append = false) =>
        io.emit({ kind: 'artifact', artifact: { artifactId, parts: [{ text }] }, append });
      await say('title', 'Draft. ');
      await say('body', 'one');
      await say('title', 'Report. ');
      await say('body', 'two');
      await say('body', ' three', true);
      return { state: 'completed' };
    });
    await using service = await openService({ agents: { revising } });
    const task = await service.client.send('hi');
    expect(answerOf(task)).toBe('Report. two three');
    expect(statusTextOf(task)).toBe('Report. two three');
  });
});

describe('a task that asks again and again', () => {
  it('takes messages until it is as large as limits.taskBytes allows, and says what to do then', async () => {
    await using service = await openService({ settings: { taskBytes: 8 * KIB } });
    const { client } = service;
    const task = await client.send('@ask and?');
    const answer = (): Promise<unknown> => client.send(`@ask and? ${'x'.repeat(KIB)}`, { taskId: task.id });
    const refused = await Array.fromAsync({ length: 20 }, async () => await answer().catch((error: Error) => error));
    expect(refused[1]).toMatchObject({ status: { state: 'TASK_STATE_INPUT_REQUIRED' } });
    expect(refused.at(-1)).toMatchObject({
      code: -32004,
      message: expect.stringContaining('Send a new message in the same context'),
    });
    expect(JSON.stringify(await client.get(task.id)).length).toBeLessThan(12 * KIB);
  });
});

describe('an owner', () => {
  it('with as many waiting turns as it may have is refused, and others are not', async () => {
    const gate = createGateAgent();
    await using service = await openService({
      agents: { gate: { connector: gate.connector, concurrency: 1 } },
      settings: { ownerWaiting: 2 },
    });
    const [ann, bob] = await Promise.all([service.clientOf('ann'), service.clientOf('bob')]);
    await ann.submit('runs');
    await Promise.all([ann.submit('waits'), ann.submit('waits too')]);
    const refusal = await refusalOf(ann.submit('too many'));
    expect(refusal.code).toBe(-32016);
    expect(refusal.headers.get('retry-after')).toBe('10');
    expect((await ann.list()).totalSize).toBe(3);
    expect((await bob.submit('mine')).status.state).toBe('TASK_STATE_SUBMITTED');
  });

  it('with as many runs as it may have waits, and others do not', async () => {
    const gate = createGateAgent();
    await using service = await openService({
      agents: { gate: { connector: gate.connector } },
      settings: { ownerRunning: 2 },
    });
    const [ann, bob] = await Promise.all([service.clientOf('ann'), service.clientOf('bob')]);
    for (const text of ['one', 'two', 'three']) await ann.submit(text);
    await Promise.all([gate.started('one'), gate.started('two')]);
    await bob.submit('mine');
    await gate.started('mine');
    expect(gate.begun).not.toContain('three');
    const { tasks } = await ann.list({ status: 'TASK_STATE_SUBMITTED' });
    expect(tasks.map(({ history }) => history![0]!.parts)).toEqual([[{ text: 'three' }]]);
    (await gate.started('one')).end();
    await gate.started('three');
  });
});

describe('where slots are short', () => {
  const openShort = async () => {
    const begun: string[] = [];
    const opened = Promise.withResolvers<void>();
    const connector = agentOf(async (turn) => {
      begun.push(textOf(turn.message.parts));
      await opened.promise;
      return { state: 'completed' };
    });
    const agents = { first: { connector, default: true }, second: { connector } };
    const service = await openService({ agents, settings: { slots: 1 } });
    const { client } = service;
    const close = () => service.close();
    const toSecond = client.with({ path: '/agents/second' });
    return { begun, open: () => opened.resolve(), client, toSecond, [Symbol.asyncDispose]: close };
  };

  it('what waits for one agent runs, also when others come before it and have nothing to do', async () => {
    await using short = await openShort();
    for (const text of ['a', 'b']) await short.toSecond.submit(text, { contextId: 'x' });
    short.open();
    await expect.poll(() => short.begun).toEqual(['a', 'b']);
  });

  it('and nothing waits, the store is not asked again and again', async () => {
    await using storage = await openStore('memory');
    let claims = 0;
    const claim: Storage['tasks']['claim'] = (request) => {
      claims += 1;
      return storage.tasks.claim(request);
    };
    const store = { ...storage, tasks: { ...storage.tasks, claim } };
    const agents = { first: createEchoAgent(), second: { connector: createEchoAgent(), default: true } };
    await using service = await openService({ store, agents, settings: { slots: 1 } });
    const sent = await Promise.all(['one', 'two', 'three'].map((text) => service.client.send(text)));
    const before = claims;
    // The store answers in the order in which it is asked: a dispatcher that asked again and again would have claimed
    // between any two of these.
    for (let looks = 0; looks < 100; looks += 1) await storage.tasks.find('all', sent[0]!.id);
    expect(claims - before).toBeLessThan(5);
  });

  it('agents take turns: what waits for one does not wait for all that waits for another', async () => {
    await using short = await openShort();
    for (const text of ['1', '2', '3', '4']) await short.client.submit(text);
    await short.toSecond.submit('newcomer');
    short.open();
    await expect.poll(() => short.begun).toHaveLength(5);
    expect(short.begun.slice(0, 3)).toContain('newcomer');
  });
});

it('an agent runs no more at the same time than it may, and the rest wait', async () => {
  const gate = createGateAgent();
  await using service = await openService({ agents: { gate: { connector: gate.connector, concurrency: 3 } } });
  const { client } = service;
  for (let number = 0; number < 9; number += 1) await client.submit(`task ${number}`);
  for (let number = 0; number < 9; number += 1) (await gate.startedAt(number)).end();
  expect(gate.mostAtOnce()).toBe(3);
});

describe('an agent', () => {
  it('that breaks fails its task with its words, and the lane goes on', async () => {
    const agent = agentOf(async ({ message }) => {
      if (message.parts[0]?.text === 'break') throw new Error('the cable is loose');
      return { state: 'completed' };
    });
    await using service = await openService({ agents: { agent } });
    const failed = await service.client.send('break', { contextId: 'x' });
    expect(failed).toMatchObject({ status: { state: 'TASK_STATE_FAILED' }, metadata: { reason: 'error' } });
    expect(statusTextOf(failed)).toBe('the cable is loose');
    expect((await service.client.send('again', { contextId: 'x' })).status.state).toBe('TASK_STATE_COMPLETED');
  });

  it('that may be tried again is tried three times in all, and keeps its place in the lane', async () => {
    const attempts: string[] = [];
    const agent = agentOf(async ({ message }, io) => {
      const { attempt } = io;
      const text = message.parts[0]?.text ?? '';
      attempts.push(`${text} ${attempt}`);
      await io.emit({ kind: 'artifact', artifact: { artifactId: 'a', parts: [{ text: `try ${attempt}` }] } });
      return text === 'next' || (text === 'lucky' && attempt === 2)
        ? { state: 'completed' }
        : { state: 'failed', retryable: true, message: io.say('not now') };
    });
    await using service = await openService({
      agents: { agent: { connector: agent, recovery: 'retry' } },
      settings: { retryMs: 10, pollMs: 20 },
    });
    const { client } = service;
    const sent = await Promise.all(['lucky', 'hopeless', 'next'].map((text) => client.send(text, { contextId: 'x' })));
    expect(sent.map(({ status }) => status.state)).toEqual([
      'TASK_STATE_COMPLETED',
      'TASK_STATE_FAILED',
      'TASK_STATE_COMPLETED',
    ]);
    expect(attempts.filter((attempt) => attempt.startsWith('hopeless'))).toEqual([
      'hopeless 1',
      'hopeless 2',
      'hopeless 3',
    ]);
    // What an attempt left is replaced by the next.
    expect(answerOf(sent[0]!)).toBe('try 2');
    // Each has all its attempts before the next one of the lane has its first.
    const texts = attempts.map((attempt) => attempt.split(' ')[0]);
    expect(texts.filter((text, index) => text !== texts[index - 1])).toHaveLength(3);
  });
});
