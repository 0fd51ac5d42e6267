import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { createCommandAgent, createEchoAgent } from 'sealane';

import { answerOf, refusalOf } from './support/a2a-client.ts';
import { createGateAgent } from './support/gate-agent.ts';
import { openService, type TestService } from './support/service.ts';

const gate = createGateAgent();
let service: TestService;
beforeAll(async () => {
  service = await openService({
    agents: {
      echo: { connector: createEchoAgent(), default: true },
      gate: { connector: gate.connector, extensions: [{ uri: 'urn:example:tone' }, { uri: 'urn:example:colour' }] },
      trace: { connector: createCommandAgent({ command: ['printenv', 'TRACEPARENT'] }) },
      extensions: {
        connector: createCommandAgent({ command: ['printenv', 'SEALANE_EXTENSIONS'] }),
        extensions: [{ uri: 'urn:example:tone' }, { uri: 'urn:example:colour' }],
      },
      ancestors: { connector: createCommandAgent({ command: ['printenv', 'SEALANE_ANCESTORS'] }) },
    },
  });
});
afterAll(() => service.close());

const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

describe('a traceparent', () => {
  it('reaches a program as TRACEPARENT', async () => {
    const client = service.client.with({ path: '/agents/trace' });
    const task = await client.send('show me', { headers: { traceparent: TRACEPARENT } });
    expect(answerOf(task).trim()).toBe(TRACEPARENT);
  });

  it('that is not well formed is left out, and refuses nothing', async () => {
    const client = service.client.with({ path: '/agents/trace' });
    const task = await client.send('show me', { headers: { traceparent: 'nonsense' } });
    expect(task).toMatchObject({ status: { state: 'TASK_STATE_FAILED' }, metadata: { reason: 'exit-code' } });
  });
});

describe('Sealane-Ancestors', () => {
  it('refuses a message that would wait in a lane for the run that sent it, and makes no task', async () => {
    const client = service.client.with({ path: '/agents/gate' });
    await client.submit('outer', { contextId: 'conversation' });
    const outer = await gate.started('outer');
    const headers = { 'sealane-ancestors': `somebody-else.1, ${outer.turn.runId}` };
    const refusal = await refusalOf(client.submit('inner', { contextId: 'conversation', headers }));
    expect(refusal.code).toBe(-32017);
    expect(refusal.message).toContain('another contextId');
    expect((await client.list({ contextId: 'conversation' })).totalSize).toBe(1);

    // Elsewhere it may work, and a stranger may wait.
    expect((await client.submit('aside', { contextId: 'elsewhere', headers })).status.state).toBe('TASK_STATE_WORKING');
    expect((await client.submit('later', { contextId: 'conversation' })).status.state).toBe('TASK_STATE_SUBMITTED');
    expect((await gate.started('aside')).turn.ancestors).toEqual(['somebody-else.1', outer.turn.runId]);
  });

  it('are handed on to a program with its own run at the end', async () => {
    const client = service.client.with({ path: '/agents/ancestors' });
    const task = await client.send('who?', { headers: { 'sealane-ancestors': 'a.1,b.2' } });
    expect(answerOf(task).trim()).toBe(`a.1,b.2,${task.id}.1.1`);
  });

  it('that are no run ids, or too many, are refused', async () => {
    for (const ancestors of ['a b', 'x'.repeat(200), Array(40).fill('a.1').join(',')]) {
      const refusal = await refusalOf(service.client.send('hello', { headers: { 'sealane-ancestors': ancestors } }));
      expect(refusal.code).toBe(-32602);
    }
  });
});

describe('an Idempotency-Key', () => {
  it('attaches a repeated send to the first task, while it runs and when it has ended', async () => {
    const client = service.client.with({ path: '/agents/gate' });
    const send = { messageId: 'm-1', headers: { 'idempotency-key': 'order-1' } };
    const first = await client.submit('ordered once', send);
    const again = await client.submit('ordered once', send);
    expect(again.id).toBe(first.id);
    const waiting = client.send('ordered once', send);
    (await gate.started('ordered once')).end();
    expect(await waiting).toMatchObject({ id: first.id, status: { state: 'TASK_STATE_COMPLETED' } });
    expect((await client.send('ordered once', send)).id).toBe(first.id);
    expect(gate.begun.filter((text) => text === 'ordered once')).toHaveLength(1);
    expect((await client.list({ contextId: first.contextId })).totalSize).toBe(1);
  });

  it('makes one task of many sends at the same moment', async () => {
    const { client } = service;
    const send = { messageId: 'm-2', headers: { 'idempotency-key': 'order-2' } };
    const startedAt = performance.now();
    const tasks = await Promise.all(Array.from({ length: 20 }, () => client.send('all at once', send)));
    // Nobody is left waiting for an end that came while it was asking: such a call would wait for minutes.
    expect(performance.now() - startedAt).toBeLessThan(30_000);
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(1);
    expect(tasks.every(({ status }) => status.state === 'TASK_STATE_COMPLETED')).toBe(true);
  });

  it('with another body is refused, and says so', async () => {
    const { client } = service;
    const headers = { 'idempotency-key': 'order-3' };
    await client.send('one thing', { messageId: 'm-3', headers });
    const refusal = await refusalOf(client.send('another thing', { messageId: 'm-3', headers }));
    expect(refusal.code).toBe(-32018);
    expect(refusal.message).toContain('Idempotency-Key');
  });

  it('belongs to its owner: the same key of somebody else is another order', async () => {
    const [ann, bob] = await Promise.all([service.clientOf('ann'), service.clientOf('bob')]);
    const send = { messageId: 'm-4', headers: { 'idempotency-key': 'order-4' } };
    const [first, second] = [await ann.send('mine', send), await bob.send('mine', send)];
    expect(first.id).not.toBe(second.id);
  });

  it('lets a stream that was cut be sent again and go on where it was', async () => {
    const { client } = service;
    const send = { messageId: 'm-5', headers: { 'idempotency-key': 'order-5' } };
    const first = await client.stream('@stream 30 5', send);
    await first.until(({ id }) => id === 10);
    await first.leave();
    const again = await client.stream('@stream 30 5', { ...send, headers: { ...send.headers, 'last-event-id': '10' } });
    const numbers = (await again.rest()).map(({ id }) => id);
    expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, index) => 11 + index));
    expect(numbers.at(-1)).toBe(33);
  });
});

describe('an extension that an agent declares', () => {
  const asking = (...uris: readonly string[]) => ({ 'a2a-extensions': ['urn:unknown', TASK_LOG, ...uris].join(', ') });
  const TASK_LOG = 'https://sealane.dev/extensions/task-log/v1';

  it('is told to the agent by each message whose caller asks for it', async () => {
    const client = service.client.with({ path: '/agents/gate' });
    const { id } = await client.submit('in which tone?', { headers: asking('urn:example:tone') });
    const first = await gate.started('in which tone?');
    expect(first.turn.extensions).toEqual(['urn:example:tone']);
    first.end({ state: 'input-required' });
    await expect.poll(async () => (await client.get(id)).status.state).toBe('TASK_STATE_INPUT_REQUIRED');

    // The answer goes to the task's agent, whichever the address names.
    await service.client.submit('in blue', { taskId: id, headers: asking('urn:example:colour') });
    const second = await gate.started('in blue');
    expect(second.turn.extensions).toEqual(['urn:example:colour']);
    second.end();
  });

  it('may be asked for by the header of either version, or by both', async () => {
    const client = service.client.with({ path: '/agents/extensions' });
    const headers = { 'a2a-extensions': 'urn:example:tone', 'x-a2a-extensions': 'urn:example:colour' };
    expect(answerOf(await client.send('which?', { headers })).trim()).toBe('urn:example:tone,urn:example:colour');
  });

  it('reaches a program as SEALANE_EXTENSIONS', async () => {
    const client = service.client.with({ path: '/agents/extensions' });
    const task = await client.send('which?', { headers: asking('urn:example:tone', 'urn:example:colour') });
    expect(answerOf(task).trim()).toBe('urn:example:tone,urn:example:colour');
  });
});

describe('the media types that a caller can take', () => {
  const SENDS = {
    '1.0': ['SendMessage', { role: 'ROLE_USER', parts: [{ text: 'in 1.0' }] }],
    '0.3': ['message/send', { kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'in 0.3' }] }],
  } as const;
  it.each(['1.0', '0.3'] as const)('are told to the agent, in version %s', async (version) => {
    const client = service.client.with({ path: '/agents/gate' });
    const [method, message] = SENDS[version];
    const configuration = { acceptedOutputModes: ['text/html', 'image/png'] };
    const params = { message: { ...message, messageId: version }, configuration };
    const call = client.call(method, params, { 'a2a-version': version });
    const run = await gate.started(`in ${version}`);
    expect(run.turn.outputModes).toEqual(['text/html', 'image/png']);
    run.end();
    await call;
  });
});

describe('headers that a caller may send', () => {
  it('of extensions nobody here knows change nothing', async () => {
    const headers = { 'a2a-extensions': 'https://example.com/ext/v1, https://example.com/other' };
    expect((await service.client.send('hello', { headers })).status.state).toBe('TASK_STATE_COMPLETED');
  });

  it.each(['1.0', '1.0.1', '1.0.999', ' 1.0 ', '1'])('may ask for version %s', async (version) => {
    expect((await service.client.send('hello', { headers: { 'a2a-version': version } })).status.state).toBe(
      'TASK_STATE_COMPLETED',
    );
  });
});
