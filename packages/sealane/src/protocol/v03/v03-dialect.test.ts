import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { SealaneError, type State, STATES } from '#domain';
import type { SendRequest, StreamItem, TaskService } from '#engine';

import { context, depsOf, nobody, refuse } from '../refusing-service.fixture.ts';
import { createV03Dialect } from './v03-dialect.ts';
import { encodeV03StreamItem } from './v03-encoder.ts';

const AT = '2026-01-02T03:04:05.006Z';

const message = { messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'x' }] };

/** What the service is asked to do for a send with this configuration. */
const sendWith = async (configuration: unknown): Promise<{ readonly request: SendRequest; readonly wait: boolean }> => {
  const seen: { request: SendRequest; wait: boolean }[] = [];
  const service: TaskService = {
    ...nobody,
    send: async (_caller, request, { wait }) => {
      seen.push({ request, wait });
      return await refuse();
    },
  };
  const { methods } = createV03Dialect(depsOf(service));
  await methods
    .get('message/send')?.({ message, configuration }, context)
    .catch(() => undefined);
  if (!seen[0]) throw new Error('Nothing was sent.');
  return seen[0];
};

describe('methods of 0.3', () => {
  it('wait for the answer unless `blocking` is false', async () => {
    expect((await sendWith(undefined)).wait).toBe(true);
    expect((await sendWith({ blocking: true })).wait).toBe(true);
    expect((await sendWith({ blocking: null })).wait).toBe(true);
    expect((await sendWith({ blocking: false })).wait).toBe(false);
  });

  it('register a webhook in the dialect it came in, with the first scheme that it names', async () => {
    const webhook = { url: 'https://example.com/', id: 'w', token: 't' };
    const pushOf = async (authentication?: unknown) =>
      (await sendWith({ pushNotificationConfig: { ...webhook, authentication } })).request.push;
    expect(await pushOf()).toEqual({ ...webhook, dialect: '0.3' });
    expect(await pushOf({ schemes: [] })).toEqual({ ...webhook, dialect: '0.3' });
    expect(await pushOf({ schemes: ['Basic', 'Bearer'], credentials: 'c' })).toEqual({
      ...webhook,
      dialect: '0.3',
      authentication: { scheme: 'Basic', credentials: 'c' },
    });
  });

  it.each([
    ['no message', {}, 'message'],
    ['a message of another kind', { message: { ...message, kind: 'task' } }, 'message.kind'],
    ['no messageId', { message: { ...message, messageId: '' } }, 'message.messageId'],
    ['the role of an agent', { message: { ...message, role: 'agent' } }, 'message.role'],
    ['a role of 1.0', { message: { ...message, role: 'ROLE_USER' } }, 'message.role'],
    ['no parts', { message: { ...message, parts: undefined } }, 'message.parts'],
    ['a contextId that is a number', { message: { ...message, contextId: 5 } }, 'message.contextId'],
    ['a list as configuration', { message, configuration: [] }, 'configuration'],
    ['a text as blocking', { message, configuration: { blocking: 'no' } }, 'configuration.blocking'],
    ['a negative historyLength', { message, configuration: { historyLength: -1 } }, 'configuration.historyLength'],
    [
      'credentials without a scheme',
      {
        message,
        configuration: { pushNotificationConfig: { url: 'https://a.b', authentication: { credentials: 'c' } } },
      },
      'configuration.pushNotificationConfig.authentication.schemes',
    ],
    [
      'a webhook that is no web address',
      { message, configuration: { pushNotificationConfig: { url: 'file:///etc/passwd' } } },
      'configuration.pushNotificationConfig.url',
    ],
  ])('refuse a send with %s', async (_name, params, field) => {
    const { methods } = createV03Dialect(depsOf(nobody));
    await expect(methods.get('message/send')?.(params, context)).rejects.toMatchObject({
      code: 'invalid-params',
      facts: { field },
    });
  });

  it('answer any params at all, and only with refusals that have a meaning', async () => {
    const { methods } = createV03Dialect(depsOf(nobody));
    const params = fc.oneof(
      fc.jsonValue(),
      fc.record(
        {
          id: fc.jsonValue(),
          taskId: fc.jsonValue(),
          message: fc.oneof(
            fc.jsonValue(),
            fc.record({ messageId: fc.jsonValue(), role: fc.constant('user'), parts: fc.jsonValue() }),
          ),
          configuration: fc.jsonValue(),
          pushNotificationConfig: fc.jsonValue(),
          status: fc.oneof(fc.jsonValue(), fc.constantFrom('working', 'constructor')),
        },
        { requiredKeys: [] },
      ),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...methods.values()), params, async (method, value) => {
        const thrown: unknown = await method(value, context).then(
          () => undefined,
          (error: unknown) => error,
        );
        if (thrown !== undefined) expect(thrown).toBeInstanceOf(SealaneError);
      }),
    );
  });

  it('that are not offered are refused with their own errors', async () => {
    const none = { streaming: false, pushNotifications: false, extendedCard: false };
    const { methods } = createV03Dialect(depsOf(nobody, none));
    const codes = [];
    for (const [name, method] of methods) {
      const error: unknown = await method({ id: 't', message }, context).catch((thrown: unknown) => thrown);
      codes.push([name, (error as SealaneError).code]);
    }
    expect(Object.fromEntries(codes)).toMatchObject({
      'message/stream': 'unsupported-operation',
      'tasks/resubscribe': 'unsupported-operation',
      'tasks/pushNotificationConfig/set': 'push-not-supported',
      'tasks/pushNotificationConfig/get': 'push-not-supported',
      'tasks/pushNotificationConfig/list': 'push-not-supported',
      'tasks/pushNotificationConfig/delete': 'push-not-supported',
      'agent/getAuthenticatedExtendedCard': 'extended-card-not-configured',
    });
  });

  it('ask which webhook is meant when there are several and none is the task’s own', async () => {
    const configs = ['a', 'b'].map((id) => ({ id, url: 'https://a.b', dialect: '0.3' }));
    const service = { ...nobody, pushConfigs: { ...nobody.pushConfigs, list: async () => configs } };
    const { methods } = createV03Dialect(depsOf(service));
    await expect(methods.get('tasks/pushNotificationConfig/get')?.({ id: 't' }, context)).rejects.toMatchObject({
      facts: { field: 'pushNotificationConfigId' },
    });
  });
});

describe('streams of 0.3', () => {
  const item = (state: State): StreamItem & { kind: 'event' } => ({
    kind: 'event',
    seq: 4,
    event: { seq: 4, at: AT, event: { kind: 'turn-ended', state, reason: 'agent' } },
    task: { id: 't', contextId: 'c' },
    frames: new Map(),
  });

  it('have the final event where they end: a send at a question too, a subscription only with the task', () => {
    const finals = (kind: 'send' | 'subscribe'): readonly State[] =>
      STATES.filter((state) => (JSON.parse(encodeV03StreamItem(item(state), kind)) as { final: boolean }).final);
    const ends: readonly State[] = ['completed', 'failed', 'canceled', 'rejected'];
    expect(finals('subscribe').toSorted()).toEqual(ends.toSorted());
    expect(finals('send').toSorted()).toEqual([...ends, 'input-required'].toSorted());
  });

  it('share an event’s text, and never a final one with a reader that goes on', () => {
    const question = item('input-required');
    const [sent, followed] = [encodeV03StreamItem(question, 'send'), encodeV03StreamItem(question, 'subscribe')];
    expect(sent).toBe(
      `{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"input-required","timestamp":"${AT}"},"final":true,"metadata":{"reason":"agent"}}`,
    );
    expect(followed).toBe(sent.replace('"final":true', '"final":false'));
    expect([...question.frames.values()]).toEqual([sent, followed]);
    question.frames.set('0.3', 'shared');
    expect(encodeV03StreamItem(question, 'subscribe')).toBe('shared');
  });
});
