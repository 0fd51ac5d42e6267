import { randomUUID } from 'node:crypto';

import { createEchoAgent, textOf } from 'sealane';
import { describe, expect, it } from 'vitest';

import { answerOf, refusalOf, statusTextOf } from './support/a2a-client.ts';
import { isState } from './support/event-stream.ts';
import { eventually } from './support/eventually.ts';
import { createGateAgent, type GatedRun } from './support/gate-agent.ts';
import { openService } from './support/service.ts';

const openGated = async (options: { readonly steerable?: boolean } = {}) => {
  const gate = createGateAgent(options);
  const service = await openService({ agents: { gate: { connector: gate.connector, default: true } } });
  return { gate, client: service.client, [Symbol.asyncDispose]: () => service.close() };
};

describe('the answer to a question', () => {
  it('completes the task that asked, whose history tells the whole conversation', async () => {
    await using service = await openService();
    const { client } = service;
    const asked = await client.send('@ask Which colour?');
    expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    expect(statusTextOf(asked)).toBe('Which colour?');
    const done = await client.send('blue', { taskId: asked.id });
    expect(done.id).toBe(asked.id);
    expect(done.contextId).toBe(asked.contextId);
    expect(done.status.state).toBe('TASK_STATE_COMPLETED');
    expect(answerOf(done)).toBe('blue');
    expect(done.history?.map(({ role, parts }) => `${role} ${parts[0]?.text}`)).toEqual([
      'ROLE_USER @ask Which colour?',
      'ROLE_AGENT Which colour?',
      'ROLE_USER blue',
      'ROLE_AGENT blue',
    ]);
  });

  it('goes to the same agent, which can read the history without the new message', async () => {
    await using gated = await openGated();
    const { client, gate } = gated;
    const asking = client.send('first');
    const first = await gate.started('first');
    first.end({ state: 'input-required', message: first.io.say('which?') });
    const asked = await asking;
    await client.submit('that one', { taskId: asked.id });
    const second = await gate.started('that one');
    expect(second.turn).toMatchObject({ number: 2, taskId: asked.id, contextId: asked.contextId });
    expect((await second.turn.history()).map(({ parts }) => textOf(parts))).toEqual(['first', 'which?']);
    second.end();
  });

  it('brings its own metadata to the agent, over that of the task, also when it has to wait', async () => {
    await using gated = await openGated();
    const { client, gate } = gated;
    const asking = client.send('first', { contextId: 'm', metadata: { requester: 'ann', skill_used: 'a' } });
    const first = await gate.started('first');
    first.end({ state: 'input-required', message: first.io.say('which?') });
    const { id } = await asking;
    await client.submit('between', { contextId: 'm' });
    const between = await gate.started('between');
    await client.submit('that one', { taskId: id, metadata: { requester: 'bea' } });
    between.end();
    const second = await gate.started('that one');
    expect(second.turn.metadata).toEqual({ requester: 'bea', skill_used: 'a' });
    expect((await client.get(id)).metadata).toMatchObject({ requester: 'ann' });
    second.end();
  });

  it('goes to an agent that can read all that it has said, in its place, however long it was', async () => {
    await using gated = await openGated();
    const { client, gate } = gated;
    const say = (run: GatedRun, text: string, append = false) =>
      run.io.emit({
        kind: 'artifact',
        artifact: { artifactId: `answer-${run.turn.number}`, parts: [{ text }] },
        append,
      });
    const long = 'x'.repeat(40_000);
    const asking = client.send('first');
    const first = await gate.started('first');
    await say(first, 'A ');
    await say(first, 'draft.', true);
    first.end({ state: 'input-required', message: first.io.say('Is it good?') });
    const { id } = await asking;
    await client.submit('A', { taskId: id });
    const second = await gate.started('A');
    const texts = async ({ turn }: GatedRun) => (await turn.history()).map(({ role, parts }) => [role, textOf(parts)]);
    const begun = [
      ['ROLE_USER', 'first'],
      ['ROLE_AGENT', 'A draft.'],
      ['ROLE_AGENT', 'Is it good?'],
    ];
    expect(await texts(second)).toEqual(begun);
    await say(second, long);
    second.end({ state: 'input-required', message: second.io.say(long.slice(0, 100)) });
    await eventually(async () => expect((await client.get(id)).status.state).toBe('TASK_STATE_INPUT_REQUIRED'));
    await client.submit('go on', { taskId: id });
    const third = await gate.started('go on');
    expect(await texts(third)).toEqual([...begun, ['ROLE_USER', 'A'], ['ROLE_AGENT', long]]);
    third.end();
  });

  it('is not mixed up with what its agent had said, also when it begins with the same words', async () => {
    await using gated = await openGated({ steerable: true });
    const { client, gate } = gated;
    const asking = client.send('first');
    const first = await gate.started('first');
    await first.io.emit({ kind: 'artifact', artifact: { artifactId: 'a', parts: [{ text: 'Apples, or pears' }] } });
    const { id } = (await client.list()).tasks[0]!;
    await client.submit('Apples', { taskId: id });
    first.end({ state: 'input-required', message: first.io.say('How many?') });
    await asking;
    await client.submit('three', { taskId: id });
    const second = await gate.started('three');
    expect((await second.turn.history()).map(({ role, parts }) => [role, textOf(parts)])).toEqual([
      ['ROLE_USER', 'first'],
      ['ROLE_AGENT', 'Apples, or pears'],
      ['ROLE_USER', 'Apples'],
      ['ROLE_AGENT', 'How many?'],
    ]);
    second.end();
  });

  it('waits as submitted behind a busy lane, and runs when its turn comes', async () => {
    await using gated = await openGated();
    const { client, gate } = gated;
    const contextId = randomUUID();
    const asking = client.send('question', { contextId });
    const first = await gate.started('question');
    first.end({ state: 'input-required', message: first.io.say('which?') });
    const asked = await asking;
    // The question has freed the lane, so somebody else runs in it now.
    await client.submit('busy', { contextId });
    await gate.started('busy');
    const answered = await client.submit('answer', { taskId: asked.id });
    expect(answered.status.state).toBe('TASK_STATE_SUBMITTED');
    expect(answered.metadata).toMatchObject({ queuePosition: 1, queuedAt: expect.any(Number) });
    const watching = await client.subscribe(asked.id);
    expect(gate.begun).not.toContain('answer');
    (await gate.started('busy')).end();
    (await gate.started('answer')).end();
    await watching.until(isState('TASK_STATE_COMPLETED'));
    expect(gate.begun).toEqual(['question', 'busy', 'answer']);
  });

  it('reaches a live run that asked, through its inbox, and keeps the lane for it', async () => {
    await using gated = await openGated();
    const { client, gate } = gated;
    const contextId = randomUUID();
    const asking = client.send('question', { contextId });
    const run = await gate.started('question');
    await run.io.emit({ kind: 'ask', state: 'input-required', message: run.io.say('which?') });
    const asked = await asking;
    expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    await client.submit('next', { contextId });
    const answered = await client.submit('this one', { taskId: asked.id });
    expect(answered.status.state).toBe('TASK_STATE_WORKING');
    const { value } = await run.io.inbox[Symbol.asyncIterator]().next();
    expect(textOf(value.parts)).toBe('this one');
    expect(gate.begun).toEqual(['question']);
    run.end();
    await gate.started('next');
  });
});

describe('a message to a task', () => {
  it('that is working is refused, and the task goes on as if nothing had been said', async () => {
    await using gated = await openGated();
    const { client, gate } = gated;
    const task = await client.submit('work');
    const refusal = await refusalOf(client.send('hurry', { taskId: task.id }));
    expect(refusal.code).toBe(-32004);
    expect(refusal.message).toContain('accepts no message while it works');
    const watching = await client.subscribe(task.id);
    (await gate.started('work')).end();
    await watching.rest();
    expect((await client.get(task.id)).history).toHaveLength(1);
  });

  it('that is working reaches the agent when it can be steered', async () => {
    await using gated = await openGated({ steerable: true });
    const { client, gate } = gated;
    const task = await client.submit('work');
    const run = await gate.started('work');
    expect((await client.submit('hurry', { taskId: task.id })).status.state).toBe('TASK_STATE_WORKING');
    const { value } = await run.io.inbox[Symbol.asyncIterator]().next();
    expect(textOf(value.parts)).toBe('hurry');
    run.end();
  });

  it('that waits in its lane is refused', async () => {
    await using gated = await openGated();
    const { client } = gated;
    await client.submit('a', { contextId: 'x' });
    const waiting = await client.submit('b', { contextId: 'x' });
    expect((await refusalOf(client.send('more', { taskId: waiting.id }))).code).toBe(-32004);
  });

  it.each(['completed', 'failed', 'canceled', 'rejected'] as const)(
    'that is %s is refused with -32004',
    async (state) => {
      await using gated = await openGated();
      const { client, gate } = gated;
      const sending = client.send('work');
      (await gate.started('work')).end({ state });
      const task = await sending;
      expect(task.status.state).toBe(`TASK_STATE_${state.toUpperCase()}`);
      const refusal = await refusalOf(client.send('again', { taskId: task.id }));
      expect(refusal.code).toBe(-32004);
      expect(refusal.data[0]).toMatchObject({ reason: 'UNSUPPORTED_OPERATION', domain: 'a2a-protocol.org' });
      expect((await client.get(task.id)).history).toHaveLength(1);
    },
  );

  it('that nobody knows is refused with -32001, and makes none', async () => {
    await using service = await openService();
    const { client } = service;
    const refusal = await refusalOf(client.send('hello', { taskId: randomUUID() }));
    expect(refusal.code).toBe(-32001);
    expect((await client.list()).totalSize).toBe(0);
  });

  it('runs once, however often it is repeated with the same messageId', async () => {
    await using gated = await openGated();
    const { client, gate } = gated;
    const asking = client.send('question');
    const first = await gate.started('question');
    first.end({ state: 'input-required', message: first.io.say('which?') });
    const asked = await asking;
    const answer = { taskId: asked.id, messageId: 'the-answer' };
    const answered = await client.submit('answer', answer);
    const again = await client.submit('answer', answer);
    expect([answered.id, again.id]).toEqual([asked.id, asked.id]);
    const watching = await client.subscribe(asked.id);
    (await gate.started('answer')).end();
    await watching.until(isState('TASK_STATE_COMPLETED'));
    // Also when the task has ended since: a repetition is no new message.
    expect((await client.send('answer', answer)).status.state).toBe('TASK_STATE_COMPLETED');
    expect(gate.begun).toEqual(['question', 'answer']);
    expect((await client.get(asked.id)).history).toHaveLength(3);
  });

  it('makes a new task each time when it names none, whatever its messageId', async () => {
    await using service = await openService();
    const { client } = service;
    const [one, two] = [
      await client.send('hello', { messageId: 'same' }),
      await client.send('hello', { messageId: 'same' }),
    ];
    expect(one.id).not.toBe(two.id);
  });

  it('of another context is refused with -32602 and says which field', async () => {
    await using service = await openService();
    const { client } = service;
    const asked = await client.send('@ask what?', { contextId: 'mine' });
    const refusal = await refusalOf(client.send('this', { taskId: asked.id, contextId: 'other' }));
    expect(refusal.code).toBe(-32602);
    expect(refusal.data[0]?.metadata).toMatchObject({ field: 'message.contextId' });
    expect((await client.send('this', { taskId: asked.id, contextId: 'mine' })).status.state).toBe(
      'TASK_STATE_COMPLETED',
    );
  });

  it('must bring what its agent demands of every message, at whatever address and in whatever version', async () => {
    const uri = 'urn:example:required';
    const strict = { extensions: [{ uri, required: true }], inputModes: ['text/plain'] };
    await using service = await openService({
      agents: {
        echo: { connector: createEchoAgent(), default: true },
        strict: { connector: createEchoAgent(), ...strict },
      },
    });
    const headers = { 'a2a-extensions': uri };
    const [client, addressed] = [service.client, service.client.with({ path: '/agents/strict' })];
    const { id: taskId } = await client.send('@ask what?', { metadata: { executor: 'strict' }, headers });
    const parts = [{ data: 1, mediaType: 'application/json' }];
    const image = { kind: 'file', file: { bytes: 'aGk=', mimeType: 'image/png' } };
    const old = (named: Record<string, string>) =>
      client.call(
        'message/send',
        { message: { kind: 'message', messageId: randomUUID(), role: 'user', taskId, parts: [image] } },
        { 'a2a-version': '0.3', ...named },
      );
    expect((await refusalOf(client.send('this', { taskId }))).code).toBe(-32008);
    expect((await refusalOf(client.stream('this', { taskId }))).code).toBe(-32008);
    expect((await refusalOf(old({}))).code).toBe(-32008);
    expect((await refusalOf(client.send('', { taskId, parts, headers }))).code).toBe(-32005);
    expect((await refusalOf(addressed.send('', { taskId, parts, headers }))).code).toBe(-32005);
    expect((await refusalOf(old(headers))).code).toBe(-32005);
    expect((await client.send('this', { taskId, headers })).status.state).toBe('TASK_STATE_COMPLETED');
    // Nobody else is asked for it.
    const asked = await client.send('@ask what?');
    expect((await client.send('', { taskId: asked.id, parts })).status.state).toBe('TASK_STATE_COMPLETED');
  });

  it('may point at tasks that the caller can see, and at no others', async () => {
    await using service = await openService();
    const { client } = service;
    const known = await client.send('hello');
    const next = await client.send('and now?', {
      contextId: known.contextId,
      message: { referenceTaskIds: [known.id] },
    });
    expect(next.status.state).toBe('TASK_STATE_COMPLETED');
    const refusal = await refusalOf(client.send('and now?', { message: { referenceTaskIds: [randomUUID()] } }));
    expect(refusal.code).toBe(-32001);
  });
});
