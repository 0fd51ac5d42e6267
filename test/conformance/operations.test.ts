import { randomUUID } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import type { WireMessage } from '../support/a2a-client.ts';
import { BINDINGS } from './drivers/driver.ts';
import { answerOf, expectRefusal, sending, textsOf, useWorld } from './world.ts';

const world = useWorld();

describe.each(BINDINGS)('sending over %s', (binding) => {
  const { ask, call, refused, send, submit, get } = world.speak(binding);

  it('is answered with the task, waiting for its end [CORE-SEND-001 CORE-EXECUTION-MODE-001]', async () => {
    const task = await send('hello');
    expect(task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(answerOf(task)).toBe('hello');
  });

  it('waits no longer than until the task needs something [CORE-EXECUTION-MODE-001]', async () => {
    expect((await send('@ask Which one?')).status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    expect((await send('@auth Sign in.')).status.state).toBe('TASK_STATE_AUTH_REQUIRED');
  });

  it('does not wait when asked not to, and the work goes on [CORE-EXECUTION-MODE-002 CORE-SEND-005]', async () => {
    const task = await submit('@sleep 100');
    expect(task.status.state).toMatch(/^TASK_STATE_(SUBMITTED|WORKING)$/);
    await expect.poll(async () => (await get(task.id)).status.state).toBe('TASK_STATE_COMPLETED');
  });

  it('is answered with a message where the agent answers so, waiting or not [CORE-SEND-001 CORE-EXECUTION-MODE-003]', async () => {
    for (const configuration of [{}, { returnImmediately: true }]) {
      const params = sending('@message good day', { configuration });
      const { message } = await call<{ message: WireMessage }>('SendMessage', params);
      expect(message).toMatchObject({ role: 'ROLE_AGENT', parts: [{ text: 'good day' }] });
    }
  });

  it('to a task that has ended is refused [CORE-SEND-002 DM-TASK-003]', async () => {
    for (const text of ['hello', '@fail now', '@reject now']) {
      const { id } = await send(text);
      const refusal = await refused('SendMessage', sending('again', { message: { taskId: id } }));
      expectRefusal(binding, refusal, 'UNSUPPORTED_OPERATION');
    }
  });

  it('of a media type that the agent does not take is refused [CORE-SEND-003]', async () => {
    const parts = [{ raw: 'AAAA', mediaType: 'image/png' }];
    const params = sending('', { message: { parts }, metadata: { executor: 'texts' } });
    expectRefusal(binding, await refused('SendMessage', params), 'CONTENT_TYPE_NOT_SUPPORTED');
  });

  it('to a task that does not exist is refused and makes none [CORE-SEND-004 CORE-MULTI-004]', async () => {
    const taskId = randomUUID();
    expectRefusal(binding, await refused('SendMessage', sending('x', { message: { taskId } })), 'TASK_NOT_FOUND');
    expectRefusal(binding, await refused('GetTask', { id: taskId }), 'TASK_NOT_FOUND');
  });

  it('takes metadata of any JSON and gives it to the task [CORE-META-001]', async () => {
    const metadata = { list: [1, 'two', { three: null }], flag: false, 'https://example.com/x': { deep: [[]] } };
    expect((await send('hello', { metadata })).metadata).toMatchObject(metadata);
  });

  it('makes a context and a task of its own, and names them [CORE-MULTI-001 CORE-MULTI-001a CORE-MULTI-003]', async () => {
    const [one, two] = [await send('one'), await send('two')];
    expect(new Set([one.id, two.id, one.contextId, two.contextId]).size).toBe(4);
    expect(await get(one.id)).toMatchObject({ id: one.id, contextId: one.contextId });
  });

  it('takes the context that the client names, for many tasks [CORE-MULTI-002 CORE-MULTI-008]', async () => {
    const contextId = randomUUID();
    const tasks = [await send('one', { message: { contextId } }), await send('two', { message: { contextId } })];
    expect(tasks.map((task) => task.contextId)).toEqual([contextId, contextId]);
  });

  it('refuses a context that it cannot take instead of making another [CORE-MULTI-002a]', async () => {
    const contextId = 'x'.repeat(10_000);
    expectRefusal(binding, await refused('SendMessage', sending('x', { message: { contextId } })), 'INVALID_PARAMS');
  });

  it('goes on with a task that asked for input, in its context [CORE-MULTI-005 CORE-MULTI-007]', async () => {
    const asked = await send('@ask Which one?');
    const done = await send('that one', { message: { taskId: asked.id } });
    expect(done).toMatchObject({ id: asked.id, contextId: asked.contextId, status: { state: 'TASK_STATE_COMPLETED' } });
    expect(textsOf(done.history)).toEqual(['@ask Which one?', 'Which one?', 'that one', 'that one']);
  });

  it('to a task under another context is refused [CORE-MULTI-006]', async () => {
    const { id } = await send('@ask Which one?');
    const params = sending('that one', { message: { taskId: id, contextId: randomUUID() } });
    expectRefusal(binding, await refused('SendMessage', params), 'INVALID_PARAMS');
  });

  it('the same message twice to a task is one message [CORE-SEND-006]', async () => {
    const asked = await send('@ask Which one?');
    const message = { taskId: asked.id, messageId: randomUUID() };
    await send('@ask And which colour?', { message });
    const again = await ask('SendMessage', sending('@ask And which colour?', { message }));
    expect(again.error).toBeUndefined();
    expect((await get(asked.id)).history?.filter(({ role }) => role === 'ROLE_USER')).toHaveLength(2);
  });

  it('another message under an id that was used is not lost [CORE-HIST-006]', async () => {
    const messageId = randomUUID();
    const { id } = await send('@ask First?', { message: { messageId } });
    await send('@ask Second?', { message: { messageId, taskId: id } });
    const { history } = await send('done', { message: { messageId, taskId: id } });
    const said = history?.filter(({ role }) => role === 'ROLE_USER');
    expect(textsOf(said)).toEqual(['@ask First?', '@ask Second?', 'done']);
  });

  it.each([
    ['message', {}],
    ['message.messageId', { message: { role: 'ROLE_USER', parts: [{ text: 'x' }] } }],
    ['message.parts', { message: { messageId: 'm', role: 'ROLE_USER' } }],
    ['message.parts', { message: { messageId: 'm', role: 'ROLE_USER', parts: [] } }],
    ['message.parts[0]', { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ filename: 'x' }] } }],
    ['message.role', { message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'x' }] } }],
    ['configuration.historyLength', { ...sending('x'), configuration: { historyLength: -1 } }],
  ])('without a valid %s is refused, naming it [CORE-ERR-002 CORE-ERR-003 DM-SERIAL-004]', async (field, params) => {
    const refusal = await refused('SendMessage', params);
    expectRefusal(binding, refusal, 'INVALID_PARAMS');
    expect(refusal.fields).toEqual([field]);
  });
});

describe.each(BINDINGS)('a task over %s', (binding) => {
  const { call, refused, send, submit, get } = world.speak(binding);

  it('is shown as it is now [CORE-GET-001]', async () => {
    const sent = await send('hello');
    expect(await get(sent.id)).toEqual(sent);
  });

  it('that does not exist is not found [CORE-GET-002 CORE-CANCEL-003]', async () => {
    expectRefusal(binding, await refused('GetTask', { id: randomUUID() }), 'TASK_NOT_FOUND');
    expectRefusal(binding, await refused('CancelTask', { id: randomUUID() }), 'TASK_NOT_FOUND');
  });

  it('is cancelled, once and for all [CORE-CANCEL-001 CORE-CANCEL-004 DM-TASK-003]', async () => {
    const { id } = await submit('@sleep 600000');
    expect(await call('CancelTask', { id })).toMatchObject({ id, status: { state: 'TASK_STATE_CANCELED' } });
    const again = await world.speak(binding).ask('CancelTask', { id });
    if (again.error) expectRefusal(binding, again.error, 'TASK_NOT_CANCELABLE');
    expect((await get(id)).status.state).toBe('TASK_STATE_CANCELED');
  });

  it('that has ended cannot be cancelled [CORE-CANCEL-002]', async () => {
    for (const text of ['hello', '@fail now', '@reject now']) {
      const { id } = await send(text);
      expectRefusal(binding, await refused('CancelTask', { id }), 'TASK_NOT_CANCELABLE');
    }
  });

  it('keeps its history, in order and as it was sent [CORE-HIST-004 CORE-HIST-005 CORE-HIST-006]', async () => {
    const { id } = await send('@ask First?');
    await send('@ask Second?', { message: { taskId: id } });
    await send('done', { message: { taskId: id } });
    const texts = ['@ask First?', 'First?', '@ask Second?', 'Second?', 'done', 'done'];
    expect(textsOf((await get(id)).history)).toEqual(texts);
    expect(textsOf((await get(id, { historyLength: 100 })).history)).toEqual(texts);
  });

  it('shows as much of its history as is asked for [CORE-HIST-001 CORE-HIST-002 CORE-HIST-003]', async () => {
    const { id } = await send('@ask First?');
    expect(await get(id, { historyLength: 0 })).not.toHaveProperty('history');
    expect(textsOf((await get(id, { historyLength: 1 })).history)).toEqual(['First?']);
    const configuration = { historyLength: 0 };
    expect(await send('done', { message: { taskId: id }, configuration })).not.toHaveProperty('history');
    expect((await send('hello', { configuration: { historyLength: 1 } })).history).toHaveLength(1);
  });

  it('has no history of negative length [CORE-HIST-007]', async () => {
    const { id } = await send('hello');
    expectRefusal(binding, await refused('GetTask', { id, historyLength: -1 }), 'INVALID_PARAMS');
    expectRefusal(binding, await refused('ListTasks', { historyLength: -1 }), 'INVALID_PARAMS');
  });
});
