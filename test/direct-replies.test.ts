import { createEchoAgent } from 'sealane';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { type A2aClient, sendParams, type WireMessage, type WireTask } from './support/a2a-client.ts';
import { createGateAgent } from './support/gate-agent.ts';
import { openService, type TestService } from './support/service.ts';

const gate = createGateAgent();
let service: TestService;
beforeAll(async () => {
  service = await openService({
    agents: {
      echo: { connector: createEchoAgent(), default: true },
      sync: { connector: createEchoAgent(), reply: 'message' },
      gate: { connector: gate.connector, reply: 'message' },
    },
  });
});
afterAll(() => service.close());

const ask = (client: A2aClient, text: string, options: object = {}, configuration: object = {}) =>
  client.call<{ message?: WireMessage; task?: WireTask }>('SendMessage', sendParams(text, options, configuration));

it('a direct reply is a message of the agent in the same context, and belongs to no task', async () => {
  const { message, task } = await ask(service.client, '@message good day', { contextId: 'chat' });
  expect(task).toBeUndefined();
  expect(message).toEqual({
    messageId: expect.any(String),
    role: 'ROLE_AGENT',
    parts: [{ text: 'good day' }],
    contextId: 'chat',
  });
});

it('a direct reply is waited for, even by those who would rather not wait', async () => {
  const { message } = await ask(service.client, '@message at once', {}, { returnImmediately: true });
  expect(message?.parts).toEqual([{ text: 'at once' }]);
});

it('a direct reply is the only event of its stream, and has no number to resume from', async () => {
  const events = await (await service.client.stream('@message good day')).rest();
  expect(events).toHaveLength(1);
  expect(events[0]).toMatchObject({ id: undefined, message: { role: 'ROLE_AGENT', parts: [{ text: 'good day' }] } });
});

it('an agent that replies by message does so to everything', async () => {
  const client = service.client.with({ path: '/agents/sync' });
  const { message } = await ask(client, 'hello');
  expect(message?.parts).toEqual([{ text: 'hello' }]);
  const events = await (await client.stream('hello again')).rest();
  expect(events.map(({ message: said }) => said)).toEqual([
    expect.objectContaining({ parts: [{ text: 'hello again' }] }),
  ]);
});

it('a direct reply has all of the answer: long texts, files and data', async () => {
  const client = service.client.with({ path: '/agents/sync' });
  const { message: long } = await ask(client, '@big 100000');
  expect(long?.parts).toEqual([{ text: 'x'.repeat(100_000) }]);
  const parts = [{ text: 'see' }, { url: 'https://files.example/a.png', mediaType: 'image/png' }, { data: { a: 1 } }];
  expect((await ask(client, '', { parts })).message?.parts).toEqual(parts);
  const { message: file } = await ask(client, '@file');
  expect(file).toMatchObject({ messageId: expect.stringMatching(/./), parts: [{ filename: 'hello.txt' }] });
});

it('an agent that replies by message and fails answers with the failed task', async () => {
  const { task } = await ask(service.client.with({ path: '/agents/sync' }), '@fail no idea');
  expect(task?.status).toMatchObject({ state: 'TASK_STATE_FAILED', message: { parts: [{ text: 'no idea' }] } });
});

it('the record of a direct reply is kept for the operator, and not listed for anybody', async () => {
  const client = await service.clientOf('quiet');
  const asking = ask(client.with({ path: '/agents/gate' }), 'who is it?');
  const run = await gate.started('who is it?');
  run.end({ state: 'completed', message: run.io.say('me') });
  expect((await asking).message?.parts).toEqual([{ text: 'me' }]);
  expect((await client.list()).totalSize).toBe(0);
  expect(await service.admin.get('/tasks?owner=quiet')).toMatchObject({ tasks: [], total: 0 });
  expect(await service.admin.get(`/tasks/${run.turn.taskId}`)).toMatchObject({
    owner: 'quiet',
    direct: true,
    task: { status: { state: 'TASK_STATE_COMPLETED', message: { parts: [{ text: 'me' }] } } },
  });
});

it('direct replies of one context come one after the other, in the order in which they were asked for', async () => {
  const client = service.client.with({ path: '/agents/gate' });
  const texts = ['one', 'two', 'three'];
  const answers: Promise<unknown>[] = [];
  const began = gate.begun.length;
  for (const text of texts) {
    answers.push(ask(client, text, { contextId: 'line' }));
    await expect
      .poll(async () => (await service.admin.get<{ waiting: number; running: number }>('/info')).waiting)
      .toBe(answers.length - 1);
  }
  for (const text of texts) {
    const run = await gate.started(text);
    run.end({ state: 'completed', message: run.io.say(text) });
  }
  await Promise.all(answers);
  expect(gate.begun.slice(began)).toEqual(texts);
});
