import { randomUUID } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { BINDINGS, type Operation, type Params } from './drivers/driver.ts';
import { expectRefusal, sending, useWorld } from './world.ts';

const NOTHING = { streaming: false, pushNotifications: false, extendedCard: false };
const TASK_LOG = 'https://sealane.dev/extensions/task-log/v1';
const REQUIRED = 'urn:test:required';

const bare = useWorld({ capabilities: NOTHING });
const world = useWorld();

describe.each(BINDINGS)('without capabilities, over %s', (binding) => {
  const { refused, send, list } = bare.speak(binding);
  const webhook = { taskId: 'x', id: 'x', url: 'https://example.com/hook' };

  it.each<[Operation, Params]>([
    ['CreateTaskPushNotificationConfig', webhook],
    ['GetTaskPushNotificationConfig', { taskId: 'x', id: 'x' }],
    ['ListTaskPushNotificationConfigs', { taskId: 'x' }],
    ['DeleteTaskPushNotificationConfig', { taskId: 'x', id: 'x' }],
  ])('%s is refused as not supported [CORE-CAP-001]', async (operation, params) => {
    expectRefusal(binding, await refused(operation, params), 'PUSH_NOTIFICATION_NOT_SUPPORTED');
  });

  it('a send with a webhook is refused whole [CORE-CAP-005]', async () => {
    const contextId = randomUUID();
    const configuration = { taskPushNotificationConfig: { url: webhook.url } };
    const params = sending('x', { message: { contextId }, configuration });
    expectRefusal(binding, await refused('SendMessage', params), 'PUSH_NOTIFICATION_NOT_SUPPORTED');
    expect((await list({ contextId })).totalSize).toBe(0);
  });

  it('streams are refused as unsupported [CORE-CAP-002]', async () => {
    expectRefusal(binding, await refused('SendStreamingMessage', sending('x')), 'UNSUPPORTED_OPERATION');
    const { id } = await send('@ask Which?');
    expectRefusal(binding, await refused('SubscribeToTask', { id }), 'UNSUPPORTED_OPERATION');
  });

  it('the extended card is refused as unsupported [CORE-CAP-003]', async () => {
    expectRefusal(binding, await refused('GetExtendedAgentCard', {}), 'UNSUPPORTED_OPERATION');
  });
});

describe.each(BINDINGS)('extensions over %s', (binding) => {
  const { ask, refused, send } = world.speak(binding);
  const toClosed = (text: string): Params => sending(text, { metadata: { executor: 'closed' } });

  it('that the agent requires must be asked for [CORE-CAP-004]', async () => {
    expectRefusal(binding, await refused('SendMessage', toClosed('x')), 'EXTENSION_SUPPORT_REQUIRED');
    expectRefusal(binding, await refused('SendStreamingMessage', toClosed('x')), 'EXTENSION_SUPPORT_REQUIRED');
    const answer = await ask('SendMessage', toClosed('x'), { extensions: REQUIRED });
    expect(answer.error).toBeUndefined();
  });

  it('that are unknown are ignored, and those that are used are named [EXT-001 EXT-003]', async () => {
    const { error, extensions } = await ask('SendMessage', sending('x'), { extensions: `urn:unknown, ${TASK_LOG}` });
    expect(error).toBeUndefined();
    expect(extensions).toBe(TASK_LOG);
    expect((await ask('ListTasks', {}, { extensions: 'urn:unknown' })).extensions).toBe('');
  });

  it('of another version are other extensions [EXT-002]', async () => {
    const other = TASK_LOG.replace('/v1', '/v2');
    expect((await ask('ListTasks', {}, { extensions: other })).extensions).toBe('');
    const refusal = await refused('SendMessage', toClosed('x'), { extensions: `${REQUIRED}/v2` });
    expectRefusal(binding, refusal, 'EXTENSION_SUPPORT_REQUIRED');
  });

  it('of a message are kept with it [EXT-001]', async () => {
    const { history } = await send('x', { message: { extensions: ['urn:mine'], metadata: { 'urn:mine': [1] } } });
    expect(history?.[0]).toMatchObject({ extensions: ['urn:mine'], metadata: { 'urn:mine': [1] } });
  });
});

describe.each(BINDINGS)('versions over %s', (binding) => {
  const { ask, refused } = world.speak(binding);

  it('that are not spoken are refused [VER-SERVER-002]', async () => {
    for (const version of ['99.0', '2.0', 'one']) {
      expectRefusal(binding, await refused('ListTasks', {}, { version }), 'VERSION_NOT_SUPPORTED');
    }
  });

  it('match by major and minor, whatever the patch [VER-SERVER-001 VER-SERVER-004]', async () => {
    for (const version of ['1.0', '1.0.1', '1.0.99']) {
      expect((await ask('ListTasks', {}, { version })).result).toHaveProperty('totalSize');
    }
  });
});

describe.each(BINDINGS)('tenants over %s', (binding) => {
  const { refused, send, list, get, ask } = world.speak(binding);

  it('keep their tasks to themselves [TENANT-001]', async () => {
    const [mine, other] = [`t-${randomUUID()}`, `t-${randomUUID()}`];
    const task = await send('hello', { tenant: mine });
    expect((await list({ tenant: mine })).tasks.map(({ id }) => id)).toEqual([task.id]);
    expect((await get(task.id, { tenant: mine })).id).toBe(task.id);
    expect((await list({ tenant: other })).tasks).toEqual([]);
    expectRefusal(binding, await refused('GetTask', { id: task.id, tenant: other }), 'TASK_NOT_FOUND');
    expectRefusal(binding, await refused('GetTask', { id: task.id }), 'TASK_NOT_FOUND');
    expect((await ask('CancelTask', { id: task.id, tenant: other })).error?.reason).toBe('TASK_NOT_FOUND');
  });
});
