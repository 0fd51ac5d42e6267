import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

import { describe, expect, it } from 'vitest';

import { BINDINGS, type Params } from './drivers/driver.ts';
import { expectRefusal, sending, useWorld } from './world.ts';

const world = useWorld({ allowPrivateWebhooks: true });
const guarded = useWorld();

interface Delivery {
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, Params>>;
}

/** Somebody who takes deliveries. */
const openReceiver = async () => {
  const deliveries: Delivery[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      deliveries.push({ headers: request.headers, body: JSON.parse(text) as Delivery['body'] });
      response.writeHead(204).end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    deliveries,
    /** The deliveries, once one of them tells of this state. */
    until: (state: string): Promise<readonly Delivery[]> =>
      expect
        .poll(() => deliveries.map(({ body }) => stateOf(body)))
        .toContain(state)
        .then(() => deliveries),
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};

const stateOf = (body: Delivery['body']): string | undefined =>
  ((body['task'] ?? body['statusUpdate'])?.['status'] as { readonly state: string } | undefined)?.state;

describe.each(BINDINGS)('webhooks over %s', (binding) => {
  const { call, refused, send } = world.speak(binding);
  const create = (taskId: string, more: object = {}): Promise<Params> =>
    call('CreateTaskPushNotificationConfig', { taskId, url: 'http://127.0.0.1:9/hook', ...more });

  it('are registered, shown and listed as they were given [PUSH-CREATE-001 PUSH-GET-001 PUSH-LIST-001]', async () => {
    const { id: taskId } = await send('@ask Which?');
    const authentication = { scheme: 'Bearer', credentials: 'c' };
    const named = await create(taskId, { id: 'mine', token: 't', authentication });
    expect(named).toEqual({ taskId, id: 'mine', url: 'http://127.0.0.1:9/hook', token: 't', authentication });
    const other = await create(taskId);
    expect(other['id']).toMatch(/./);
    expect(await call('GetTaskPushNotificationConfig', { taskId, id: 'mine' })).toEqual(named);
    const { configs } = await call<{ configs: Params[] }>('ListTaskPushNotificationConfigs', { taskId });
    expect(new Set(configs.map(({ id }) => id))).toEqual(new Set(['mine', other['id']]));
  });

  it('of a task that does not exist, or that do not exist, are refused [PUSH-CREATE-003 PUSH-GET-002]', async () => {
    const unknown = { taskId: randomUUID(), url: 'http://127.0.0.1:9/hook' };
    expectRefusal(binding, await refused('CreateTaskPushNotificationConfig', unknown), 'TASK_NOT_FOUND');
    const { id: taskId } = await send('hello');
    expectRefusal(binding, await refused('GetTaskPushNotificationConfig', { taskId, id: 'none' }), 'TASK_NOT_FOUND');
  });

  it('that were deleted are gone, and may be deleted again [PUSH-DEL-001 PUSH-DEL-002]', async () => {
    await using receiver = await openReceiver();
    await using other = await openReceiver();
    const { id: taskId } = await send('@ask Which?');
    await create(taskId, { id: 'gone', url: receiver.url });
    await create(taskId, { id: 'kept', url: other.url });
    await call('DeleteTaskPushNotificationConfig', { taskId, id: 'gone' });
    await call('DeleteTaskPushNotificationConfig', { taskId, id: 'gone' });
    expectRefusal(binding, await refused('GetTaskPushNotificationConfig', { taskId, id: 'gone' }), 'TASK_NOT_FOUND');
    await send('that one', { message: { taskId } });
    await other.until('TASK_STATE_COMPLETED');
    expect(receiver.deliveries).toEqual([]);
  });

  it('stay from turn to turn [PUSH-CREATE-002]', async () => {
    await using receiver = await openReceiver();
    const { id: taskId } = await send('@ask First?');
    await create(taskId, { url: receiver.url });
    await send('@ask Second?', { message: { taskId } });
    await receiver.until('TASK_STATE_INPUT_REQUIRED');
    await send('done', { message: { taskId } });
    await receiver.until('TASK_STATE_COMPLETED');
  });

  it('given with a send hear of the new task, with their credentials [PUSH-CREATE-004 PUSH-DELIVER-001 PUSH-DELIVER-002]', async () => {
    await using receiver = await openReceiver();
    const authentication = { scheme: 'Bearer', credentials: 'the credentials' };
    const taskPushNotificationConfig = { url: receiver.url, token: 'the token', authentication };
    const { id } = await send('hello', { configuration: { taskPushNotificationConfig } });
    const deliveries = await receiver.until('TASK_STATE_COMPLETED');
    for (const { headers, body } of deliveries) {
      expect(headers).toMatchObject({
        authorization: 'Bearer the credentials',
        'x-a2a-notification-token': 'the token',
      });
      expect(JSON.stringify(body)).toContain(id);
    }
    expect((await call<{ configs: Params[] }>('ListTaskPushNotificationConfigs', { taskId: id })).configs).toHaveLength(
      1,
    );
  });

  it('hear what streams hear, in order, one thing at a time [PUSH-DELIVER-003 PUSH-DELIVER-005]', async () => {
    await using receiver = await openReceiver();
    await send('@stream 5 1', { configuration: { taskPushNotificationConfig: { url: receiver.url } } });
    const deliveries = await receiver.until('TASK_STATE_COMPLETED');
    for (const { headers, body } of deliveries) {
      expect(headers['content-type']).toMatch(/^application\/a2a\+json\b/);
      expect(Object.keys(body)).toHaveLength(1);
      expect(['task', 'message', 'statusUpdate', 'artifactUpdate']).toContain(Object.keys(body)[0]);
    }
    const numbers = JSON.stringify(deliveries.map(({ body }) => body['artifactUpdate'])).matchAll(/chunk (\d) of 5/g);
    expect([...numbers].map(([, number]) => Number(number))).toEqual([1, 2, 3, 4, 5]);
    expect(stateOf(deliveries.at(-1)!.body)).toBe('TASK_STATE_COMPLETED');
  });

  it('to this machine and its network are refused, unless the operator allows them [PUSH-SEC-001]', async () => {
    const bare = guarded.speak(binding);
    const { id: taskId } = await bare.send('@ask Which?');
    for (const url of [
      'http://127.0.0.1/',
      'http://localhost/',
      'http://10.0.0.1/',
      'http://169.254.169.254/',
      'http://[::1]/',
    ]) {
      const refusal = await bare.refused('CreateTaskPushNotificationConfig', { taskId, url });
      expectRefusal(binding, refusal, 'INVALID_PARAMS');
      const configuration = { taskPushNotificationConfig: { url } };
      expectRefusal(binding, await bare.refused('SendMessage', sending('x', { configuration })), 'INVALID_PARAMS');
    }
  });
});
