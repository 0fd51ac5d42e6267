import { randomUUID } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { ERRORS } from '#protocol';

import type { WireTask } from '../support/a2a-client.ts';
import { BINDINGS, type Binding, type Item, type Operation, type Params } from './drivers/driver.ts';
import { sending, useWorld } from './world.ts';

const world = useWorld();

/** Asks the same on every binding, one after the other, and gives the answers without what must differ. */
const onAll = async (ask: (binding: Binding) => Promise<unknown>): Promise<readonly unknown[]> => {
  const answers: unknown[] = [];
  for (const binding of BINDINGS) answers.push(alike(await ask(binding)));
  return answers;
};

/** Ids and times become their places: the first id that is met is 1, wherever it is met again. */
const alike = (value: unknown): unknown => {
  const ids = new Map<string, string>();
  const text = JSON.stringify(value)
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, (id) => {
      if (!ids.has(id)) ids.set(id, `id ${ids.size + 1}`);
      return ids.get(id)!;
    })
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'a time');
  return sorted(JSON.parse(text));
};

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([one], [two]) => (one < two ? -1 : 1))
      .map(([name, member]) => [name, sorted(member)]),
  );
};

const expectAlike = (answers: readonly unknown[]): void => {
  expect(answers[1], 'JSON-RPC and REST').toEqual(answers[0]);
  expect(answers[2], 'JSON-RPC and gRPC').toEqual(answers[0]);
};

describe('every binding', () => {
  it.each(['hello', '@ask Which?', '@auth Sign in.', '@fail now', '@reject now', '@file', '@data', '@message hi'])(
    'answers "%s" with the same [BIND-EQUIV-001 BIND-EQUIV-002]',
    async (text) => {
      const message = { metadata: { a: [1, { b: null }] }, extensions: ['urn:x'] };
      expectAlike(await onAll((binding) => world.speak(binding).call('SendMessage', sending(text, { message }))));
    },
  );

  it('shows the same task in the same way [BIND-EQUIV-002]', async () => {
    const { id } = await world.speak('JSONRPC').send('@stream 3 0');
    const tasks = await Promise.all(BINDINGS.map((binding) => world.speak(binding).get(id)));
    expect(tasks[1]).toEqual(tasks[0]);
    expect(tasks[2]).toEqual(tasks[0]);
  });

  it('lists the same tasks in the same way [BIND-EQUIV-002]', async () => {
    const contextId = randomUUID();
    for (const text of ['one', '@ask Which?', '@fail now'])
      await world.speak('GRPC').send(text, { message: { contextId } });
    const pages = await Promise.all(BINDINGS.map((binding) => world.speak(binding).list({ contextId, pageSize: 2 })));
    expect(pages[1]).toEqual(pages[0]);
    expect(pages[2]).toEqual(pages[0]);
    expect(pages[0]).toMatchObject({ totalSize: 3, tasks: [{}, {}] });
  });

  it('streams the same events in the same order, to readers of one task [BIND-EQUIV-002 STREAM-ORDER-003]', async () => {
    const { id } = await world.speak('JSONRPC').send('@ask Which?');
    const readers = await Promise.all(BINDINGS.map((binding) => world.speak(binding).subscribe(id)));
    const firsts = await Promise.all(readers.map((reader) => reader.next()));
    await world.speak('HTTP+JSON').send('@stream 5 1', { message: { taskId: id } });
    const streams = await Promise.all(readers.map((reader) => reader.rest()));
    const whole: readonly (readonly (Item | undefined)[])[] = streams.map((rest, index) => [firsts[index], ...rest]);
    expect(whole[1]).toEqual(whole[0]);
    expect(whole[2]).toEqual(whole[0]);
  });

  it('goes on with a task that another began [BIND-EQUIV-001]', async () => {
    const asked = await world.speak('GRPC').send('@ask First?');
    await world.speak('HTTP+JSON').send('@ask Second?', { message: { taskId: asked.id } });
    const done: WireTask = await world.speak('JSONRPC').send('done', { message: { taskId: asked.id } });
    expect(done.status.state).toBe('TASK_STATE_COMPLETED');
    expect(done.history).toHaveLength(6);
  });

  it('refuses the same with the same reason and the same words [BIND-EQUIV-003]', async () => {
    const done = await world.speak('JSONRPC').send('hello');
    const mistakes: readonly (readonly [Operation, Params])[] = [
      ['GetTask', { id: 'nothing' }],
      ['CancelTask', { id: done.id }],
      ['SubscribeToTask', { id: done.id }],
      ['SendMessage', sending('x', { message: { taskId: done.id } })],
      ['SendMessage', sending('x', { message: { parts: [] } })],
      ['ListTasks', { pageSize: 1000 }],
      ['ListTasks', { pageToken: 'made-up' }],
      ['GetTaskPushNotificationConfig', { taskId: done.id, id: 'nothing' }],
    ];
    for (const [operation, params] of mistakes) {
      const refusals = await onAll(async (binding) => {
        const { code: _code, ...refusal } = await world.speak(binding).refused(operation, params);
        return refusal;
      });
      expectAlike(refusals);
    }
  });

  it('shows the same extended card [BIND-EQUIV-001]', async () => {
    const cards = await onAll((binding) => world.speak(binding).call('GetExtendedAgentCard', {}));
    const unsigned = cards.map((card) => ({ ...(card as object), signatures: undefined }));
    expectAlike(unsigned);
  });
});

describe('the errors of A2A', () => {
  it('have the codes that the specification gives them on each binding [JSONRPC-SSE-002 GRPC-ERR-002 HTTP_JSON-STATUS-001]', () => {
    const table = Object.values(ERRORS)
      .filter(({ jsonRpc }) => jsonRpc <= -32001 && jsonRpc >= -32009)
      .map(({ reason, jsonRpc, grpc, http }) => [reason, jsonRpc, grpc, http]);
    expect(table).toEqual([
      ['TASK_NOT_FOUND', -32001, 'NOT_FOUND', 404],
      ['TASK_NOT_CANCELABLE', -32002, 'FAILED_PRECONDITION', 400],
      ['PUSH_NOTIFICATION_NOT_SUPPORTED', -32003, 'FAILED_PRECONDITION', 400],
      ['UNSUPPORTED_OPERATION', -32004, 'FAILED_PRECONDITION', 400],
      ['CONTENT_TYPE_NOT_SUPPORTED', -32005, 'INVALID_ARGUMENT', 400],
      ['INVALID_AGENT_RESPONSE', -32006, 'INTERNAL', 500],
      ['EXTENDED_AGENT_CARD_NOT_CONFIGURED', -32007, 'FAILED_PRECONDITION', 400],
      ['EXTENSION_SUPPORT_REQUIRED', -32008, 'FAILED_PRECONDITION', 400],
      ['VERSION_NOT_SUPPORTED', -32009, 'FAILED_PRECONDITION', 400],
    ]);
  });
});
