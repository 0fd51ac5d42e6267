import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { SealaneError } from '#domain';
import type { SendRequest, TaskService } from '#engine';

import { context, depsOf, nobody, refuse } from '../refusing-service.fixture.ts';
import { taskIdOf } from './client-task.ts';
import { createV01Dialect } from './v01-dialect.ts';
import { encodeV01Error } from './v01-errors.ts';

const params = { id: 'mine', message: { role: 'user', parts: [{ type: 'text', text: 'x' }] } };

/** What the service is asked to do for a send. */
const sendWith = async (more: object = {}, headers: Record<string, string> = {}) => {
  const seen: { request: SendRequest; wait: boolean; waitMs?: number }[] = [];
  const service: TaskService = {
    ...nobody,
    send: async (_caller, request, { wait, waitMs }) => {
      seen.push({ request, wait, ...(waitMs !== undefined && { waitMs }) });
      return await refuse();
    },
  };
  const { methods } = createV01Dialect(depsOf(service));
  await methods
    .get('tasks/send')?.({ ...params, ...more }, { ...context, headers })
    .catch(() => undefined);
  if (!seen[0]) throw new Error('Nothing was sent.');
  return seen[0];
};

describe('methods of 0.1', () => {
  it('give a new task the id that follows from its name, and wait for its answer as long as is configured', async () => {
    const { request, wait, waitMs } = await sendWith({ sessionId: 's' });
    expect([wait, waitMs]).toEqual([true, undefined]);
    expect(request).toMatchObject({
      dialect: '0.1',
      givenTaskId: taskIdOf(context.caller, 'mine'),
      message: { role: 'ROLE_USER', parts: [{ text: 'x' }], contextId: 's' },
    });
    expect(request.message).not.toHaveProperty('taskId');
  });

  it('say what media types the caller can take', async () => {
    const { request } = await sendWith({ acceptedOutputModes: ['text/html'] });
    expect(request).toMatchObject({ outputModes: ['text/html'] });
    expect((await sendWith()).request.outputModes).toBe(undefined);
  });

  it('give each message an id of its own, the same to a repetition under an idempotency key', async () => {
    const idOf = async (more?: object, key?: string) =>
      (await sendWith(more, key === undefined ? {} : { 'idempotency-key': key })).request.message.messageId;
    expect(await idOf()).not.toBe(await idOf());
    expect(await idOf({}, 'k')).toBe(await idOf({}, 'k'));
    expect(await idOf({}, 'k')).not.toBe(await idOf({}, 'l'));
    expect(await idOf({ message: { ...params.message, messageId: 'own' } })).toBe('own');
  });

  it('register a webhook under the task’s id, with the name that its caller uses', async () => {
    const pushNotification = {
      url: 'https://a.b/',
      id: 'ignored',
      authentication: { schemes: ['Bearer'], credentials: 'c' },
    };
    expect((await sendWith({ pushNotification })).request.push).toEqual({
      id: taskIdOf(context.caller, 'mine'),
      url: 'https://a.b/',
      dialect: '0.1',
      taskName: 'mine',
      authentication: { scheme: 'Bearer', credentials: 'c' },
    });
  });

  it.each([
    ['no id', { id: undefined }, 'id'],
    ['an id that is a number', { id: 5 }, 'id'],
    ['a long id', { id: 'x'.repeat(129) }, 'id'],
    ['an id with a line break', { id: 'a\nb' }, 'id'],
    ['a session that is a list', { sessionId: [] }, 'sessionId'],
    ['no message', { message: undefined }, 'message'],
    ['the role of an agent', { message: { ...params.message, role: 'agent' } }, 'message.role'],
    ['no parts', { message: { role: 'user' } }, 'message.parts'],
    ['a part of another type', { message: { role: 'user', parts: [{ type: 'raw' }] } }, 'message.parts[0].type'],
    ['a negative historyLength', { historyLength: -1 }, 'historyLength'],
    ['a webhook without address', { pushNotification: {} }, 'pushNotification.url'],
    ['metadata that is a text', { metadata: 'x' }, 'metadata'],
  ])('refuse a send with %s', async (_name, more, field) => {
    const { methods } = createV01Dialect(depsOf(nobody));
    await expect(methods.get('tasks/send')?.({ ...params, ...more }, context)).rejects.toMatchObject({
      code: 'invalid-params',
      facts: { field },
    });
  });

  it('answer any params at all, and only with refusals that have a meaning', async () => {
    const { methods } = createV01Dialect(depsOf(nobody));
    const hostile = fc.oneof(
      fc.jsonValue(),
      fc.record(
        {
          id: fc.oneof(fc.jsonValue(), fc.constant('mine')),
          sessionId: fc.jsonValue(),
          message: fc.oneof(fc.jsonValue(), fc.record({ role: fc.constant('user'), parts: fc.jsonValue() })),
          pushNotification: fc.jsonValue(),
          pushNotificationConfig: fc.jsonValue(),
          historyLength: fc.jsonValue(),
        },
        { requiredKeys: [] },
      ),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...methods.values()), hostile, async (method, value) => {
        await expect(method(value, context)).rejects.toBeInstanceOf(SealaneError);
      }),
    );
  });
});

describe('errors of 0.1', () => {
  const codeOf = (error: SealaneError): number => (JSON.parse(encodeV01Error(error)) as { code: number }).code;

  it('tell a missing capability from a task in the wrong state', async () => {
    const { methods } = createV01Dialect(
      depsOf(nobody, { streaming: false, pushNotifications: false, extendedCard: false }),
    );
    const refusal = async (method: string): Promise<number> =>
      codeOf(
        (await methods
          .get(method)?.(params, context)
          .catch((error: unknown) => error)) as SealaneError,
      );
    expect(await refusal('tasks/sendSubscribe')).toBe(-32006);
    expect(await refusal('tasks/resubscribe')).toBe(-32006);
    expect(await refusal('tasks/pushNotification/get')).toBe(-32003);
    expect(codeOf(new SealaneError('unsupported-operation', 'Ended.', { facts: { taskId: 't' } }))).toBe(-32009);
    expect(codeOf(new SealaneError('unsupported-operation', 'No.'))).toBe(-32004);
  });

  it('have an object with the facts', () => {
    const full = new SealaneError('lane-full', 'Full.', { retryAfterMs: 1500, facts: { limit: 'l' } });
    expect(JSON.parse(encodeV01Error(full))).toEqual({
      code: -32010,
      message: 'Full.',
      data: { reason: 'LANE_FULL', limit: 'l', retryAfterMs: 1500 },
    });
  });
});
