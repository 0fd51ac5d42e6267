import { randomUUID } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { createGateAgent, type GatedRun } from '../support/gate-agent.ts';
import { BINDINGS, type Binding, type Item } from './drivers/driver.ts';
import { answerOf, expectRefusal, sending, useWorld } from './world.ts';

const gate = createGateAgent();
const world = useWorld({}, { gate: { connector: gate.connector, concurrency: 256 } });

/** A task whose run goes on until the test ends it. */
const begin = async (binding: Binding): Promise<{ readonly id: string; readonly run: GatedRun }> => {
  const text = randomUUID();
  const { id } = await world.speak(binding).submit(text, { metadata: { executor: 'gate' } });
  return { id, run: await gate.started(text) };
};
const emitChunk = ({ io }: GatedRun, text: string): Promise<void> =>
  io.emit({ kind: 'artifact', artifact: { artifactId: 'answer', parts: [{ text }] }, append: text !== '1' });

const kindOf = (item: Item | undefined): string | undefined => item && Object.keys(item)[0];
const stateOf = ({ task, statusUpdate }: Item): unknown =>
  ((task ?? statusUpdate)?.['status'] as { readonly state?: string } | undefined)?.state;
const chunkOf = ({ artifactUpdate }: Item): string =>
  (artifactUpdate?.['artifact'] as { readonly parts: readonly { readonly text: string }[] } | undefined)?.parts[0]
    ?.text ?? '';
const ENDED = /^TASK_STATE_(COMPLETED|FAILED|CANCELED|REJECTED)$/;

describe.each(BINDINGS)('a streaming send over %s', (binding) => {
  const { refused, send, stream, get, call } = world.speak(binding);

  it('begins with the task, tells what happens, and closes at the end [CORE-STREAM-001 CORE-STREAM-003]', async () => {
    const items = await (await stream('@stream 3 0')).rest();
    expect(kindOf(items[0])).toBe('task');
    expect(items.map(kindOf).filter((kind) => kind === 'artifactUpdate')).toHaveLength(3);
    expect(stateOf(items.at(-1)!)).toBe('TASK_STATE_COMPLETED');
    expect(items.filter((item) => ENDED.test(String(stateOf(item))))).toHaveLength(1);
  });

  it('with a message has just that, waiting or not [CORE-STREAM-002 CORE-EXECUTION-MODE-003]', async () => {
    const items = await (await stream('@message good day', { configuration: { returnImmediately: true } })).rest();
    expect(items).toMatchObject([{ message: { role: 'ROLE_AGENT', parts: [{ text: 'good day' }] } }]);
  });

  it('shows parts of the result before there is an end, even if asked not to wait [CORE-STREAM-004 CORE-EXECUTION-MODE-003]', async () => {
    const reader = await stream('@stream 2 60000', { configuration: { returnImmediately: true } });
    const first = await reader.next();
    let item: Item | undefined = first;
    while (item && kindOf(item) !== 'artifactUpdate') item = await reader.next();
    expect(kindOf(item)).toBe('artifactUpdate');
    const id = String(first?.task?.['id']);
    expect((await get(id)).status.state).toBe('TASK_STATE_WORKING');
    await call('CancelTask', { id });
    expect(stateOf((await reader.rest()).at(-1)!)).toBe('TASK_STATE_CANCELED');
  });

  it('tells things in the order in which they happened, and they add up [STREAM-ORDER-001 DM-ART-002]', async () => {
    const items = await (await stream('@stream 20 0')).rest();
    const chunks = items.filter((item) => item.artifactUpdate).map(chunkOf);
    expect(chunks.map((text) => Number(/^chunk (\d+) of 20/.exec(text)?.[1]))).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 1),
    );
    expect(answerOf(await get(String(items[0]?.task?.['id'])))).toBe(chunks.join(''));
  });

  it('is refused for what a plain send is refused for, before there is a stream [CORE-STREAM-005]', async () => {
    const operation = 'SendStreamingMessage';
    const { id } = await send('hello');
    const image = { parts: [{ raw: 'AAAA', mediaType: 'image/png' }] };
    const refusals = [
      [sending('x', { message: { taskId: id } }), 'UNSUPPORTED_OPERATION'],
      [sending('x', { message: { taskId: randomUUID() } }), 'TASK_NOT_FOUND'],
      [sending('x', { message: image, metadata: { executor: 'texts' } }), 'CONTENT_TYPE_NOT_SUPPORTED'],
      [sending('x', { message: { parts: [] } }), 'INVALID_PARAMS'],
    ] as const;
    for (const [params, reason] of refusals) expectRefusal(binding, await refused(operation, params), reason);
  });

  it('may be left: the task goes on [STREAM-ORDER-005]', async () => {
    const reader = await stream('@sleep 100');
    const id = String((await reader.next())?.task?.['id']);
    reader.leave();
    await expect.poll(async () => (await get(id)).status.state).toBe('TASK_STATE_COMPLETED');
  });

  it('has only as much history as is asked for [CORE-HIST-003]', async () => {
    const reader = await stream('hello', { configuration: { historyLength: 0 } });
    expect((await reader.next())?.task).not.toHaveProperty('history');
    await reader.rest();
  });

  it('stays as it was when others join and leave [STREAM-ORDER-002 STREAM-ORDER-003 STREAM-ORDER-004]', async () => {
    const { id, run } = await begin(binding);
    const readers = [];
    for (const text of ['1', '2', '3']) {
      await emitChunk(run, text);
      const reader = await world.speak(binding).subscribe(id);
      expect(kindOf(await reader.next())).toBe('task');
      readers.push(reader);
    }
    readers[0]!.leave();
    await emitChunk(run, '4');
    run.end();
    const [one, two] = await Promise.all([readers[1]!.rest(), readers[2]!.rest()]);
    expect(stateOf(one.at(-1)!)).toBe('TASK_STATE_COMPLETED');
    // Whoever came later has more in the task and fewer events after it; the events themselves are the same.
    const shared = Math.min(one.length, two.length);
    expect(shared).toBeGreaterThan(0);
    expect(one.slice(-shared)).toEqual(two.slice(-shared));
  });
});

describe.each(BINDINGS)('a subscription over %s', (binding) => {
  const { refused, send, submit, subscribe, get, call } = world.speak(binding);

  it('begins with the task as it is and closes at its end [STREAM-SUB-001 STREAM-SUB-002]', async () => {
    const { id, run } = await begin(binding);
    const reader = await subscribe(id);
    run.end();
    const items = await reader.rest();
    expect(items[0]?.task).toMatchObject({ id });
    expect(stateOf(items.at(-1)!)).toBe('TASK_STATE_COMPLETED');
  });

  it('waits for a task that needs something, and hears its end [STREAM-SUB-001 STREAM-SUB-002]', async () => {
    const { id } = await send('@ask Which one?');
    const reader = await subscribe(id);
    expect(stateOf((await reader.next())!)).toBe('TASK_STATE_INPUT_REQUIRED');
    await send('that one', { message: { taskId: id } });
    expect(stateOf((await reader.rest()).at(-1)!)).toBe('TASK_STATE_COMPLETED');
  });

  it('loses nothing and repeats nothing between the task and the first event [STREAM-SUB-005]', async () => {
    const { id, run } = await begin(binding);
    let isHeard = false;
    const saying = (async () => {
      for (let number = 1; !isHeard; number += 1) await emitChunk(run, String(number));
    })();
    const reader = await subscribe(id);
    const items = [(await reader.next())!, (await reader.next())!];
    isHeard = true;
    await saying;
    run.end();
    items.push(...(await reader.rest()));
    const before = answerOf(items[0]?.task as unknown as Parameters<typeof answerOf>[0]);
    const after = items.filter((item) => item.artifactUpdate).map(chunkOf);
    expect(before + after.join('')).toBe(answerOf(await get(id)));
  });

  it('to a task that has ended is refused [STREAM-SUB-003]', async () => {
    const { id } = await send('hello');
    expectRefusal(binding, await refused('SubscribeToTask', { id }), 'UNSUPPORTED_OPERATION');
  });

  it('to a task that does not exist is refused [STREAM-SUB-004]', async () => {
    expectRefusal(binding, await refused('SubscribeToTask', { id: randomUUID() }), 'TASK_NOT_FOUND');
  });

  it('stays open while authorization is awaited, and messages are taken meanwhile [AUTH-INTASK-001 AUTH-INTASK-002 AUTH-INTASK-003 AUTH-INTASK-005 AUTH-INTASK-006]', async () => {
    const waiting = await send('@auth Sign in at the desk.');
    expect(waiting.status).toMatchObject({
      state: 'TASK_STATE_AUTH_REQUIRED',
      message: { parts: [{ text: 'Sign in at the desk.' }] },
    });
    const reader = await subscribe(waiting.id);
    expect(stateOf((await reader.next())!)).toBe('TASK_STATE_AUTH_REQUIRED');
    expect((await send('done that', { message: { taskId: waiting.id } })).status.state).toBe('TASK_STATE_COMPLETED');
    expect(stateOf((await reader.rest()).at(-1)!)).toBe('TASK_STATE_COMPLETED');
  });

  it('hears of a cancel [CORE-CANCEL-001 STREAM-SUB-002]', async () => {
    const { id } = await submit('@sleep 600000');
    const reader = await subscribe(id);
    await call('CancelTask', { id });
    expect(stateOf((await reader.rest()).at(-1)!)).toBe('TASK_STATE_CANCELED');
  });
});
