import { randomUUID } from 'node:crypto';
import { Writable } from 'node:stream';

import { pino } from 'pino';
import { describe, expect, it } from 'vitest';

import type { AuditEntry } from '../support/admin-client.ts';
import { eventually } from '../support/eventually.ts';
import { ADMIN_KEY } from '../support/service.ts';
import { freshFolder, serveInVain } from '../support/served-process.ts';
import { BINDINGS, type Binding, type Operation, type Params } from './drivers/driver.ts';
import { expectRefusal, sending, useWorld } from './world.ts';

const lines: string[] = [];
const log = pino(
  { level: 'trace' },
  new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      lines.push(chunk.toString());
      done();
    },
  }),
);
const world = useWorld({ log, allowPrivateWebhooks: true });

const everyOperation = (id: string): readonly (readonly [Operation, Params])[] => [
  ['SendMessage', sending('x', { message: { taskId: id } })],
  ['SendStreamingMessage', sending('x', { message: { taskId: id } })],
  ['GetTask', { id }],
  ['CancelTask', { id }],
  ['SubscribeToTask', { id }],
  ['CreateTaskPushNotificationConfig', { taskId: id, url: 'http://127.0.0.1:9/hook' }],
  ['GetTaskPushNotificationConfig', { taskId: id, id: 'x' }],
  ['ListTaskPushNotificationConfigs', { taskId: id }],
  ['DeleteTaskPushNotificationConfig', { taskId: id, id: 'x' }],
];
const UNAUTHENTICATED: Readonly<Record<Binding, number>> = { JSONRPC: -32010, 'HTTP+JSON': 401, GRPC: 16 };

describe.each(BINDINGS)('security over %s', (binding) => {
  const { ask, call, refused, send, submit, get } = world.speak(binding);

  it('lets nobody in without a valid key, whatever is asked for [AUTH-SERVER-002 BIND-EQUIV-004]', async () => {
    const operations = [...everyOperation('x'), ['ListTasks', {}], ['GetExtendedAgentCard', {}]] as const;
    for (const key of [null, 'wrong']) {
      for (const [operation, params] of operations) {
        const { code, reason } = await refused(operation, params, { key });
        expect([operation, reason, code]).toEqual([operation, 'UNAUTHENTICATED', UNAUTHENTICATED[binding]]);
      }
    }
    const key = await world.keyOf('known');
    expect((await ask('ListTasks', {}, { key })).error).toBeUndefined();
  });

  it('tells a refused caller what to send [AUTH-SERVER-003 CORE-ERR-001]', async () => {
    expect((await refused('ListTasks', {}, { key: null })).message).toContain('Authorization: Bearer');
  });

  it('tells a caller what it may not use [AUTH-SERVER-004]', async () => {
    const key = await world.keyOf('limited', { agents: ['texts'] });
    const { reason, message } = await refused('SendMessage', sending('x', { metadata: { executor: 'echo' } }), { key });
    expect(reason).toBe('FORBIDDEN');
    expect(message).toContain('echo');
  });

  it('shows the task of another as one that does not exist, in every operation [AUTH-SCOPE-001 AUTH-SCOPE-003 PUSH-CREATE-003]', async () => {
    const key = await world.keyOf('stranger');
    const { id, contextId } = await submit('@sleep 600000');
    const nobodys = randomUUID();
    for (const [index, [operation, params]] of everyOperation(id).entries()) {
      const refusal = await refused(operation, params, { key });
      expectRefusal(binding, refusal, 'TASK_NOT_FOUND');
      const [, unknown] = everyOperation(nobodys)[index]!;
      const { message } = await refused(operation, unknown, { key });
      expect(refusal.message.replaceAll(id, 'it')).toBe(message.replaceAll(nobodys, 'it'));
    }
    expect((await get(id)).status.state).toBe('TASK_STATE_WORKING');
    // A context of another is not joined: whoever uses its name has one of its own.
    expect((await send('x', { message: { contextId } }, { key })).history).toHaveLength(2);
    await call('CancelTask', { id });
  });

  it('limits the size of what is sent [SEC-LIMIT-001]', async () => {
    const { error } = await ask('SendMessage', sending('x'.repeat(2 * 1024 * 1024)));
    expect(error).toBeDefined();
    expect({ JSONRPC: -32013, 'HTTP+JSON': 413, GRPC: 8 }[binding]).toBe(error?.code);
  });

  it('limits the calls of a key, and says when to come back [SEC-LIMIT-002 CORE-ERR-005]', async () => {
    const key = await world.keyOf('hasty', { ratePerMinute: 2 });
    const answers = [];
    for (let number = 0; number < 4; number += 1) answers.push(await ask('ListTasks', {}, { key }));
    const refusal = answers.find(({ error }) => error)?.error;
    expect(refusal?.reason).toBe('RATE_LIMITED');
    expect(refusal?.details).toContain('google.rpc.RetryInfo');
  });

  it('records refused keys and never a key itself [SEC-AUDIT-001 SEC-SECRET-001]', async () => {
    const wrong = `slk_wrong-${randomUUID()}`;
    const credentials = `secret-${randomUUID()}`;
    await ask('ListTasks', {}, { key: wrong });
    const { id } = await send('@ask Which?');
    const authentication = { scheme: 'Bearer', credentials };
    await call('CreateTaskPushNotificationConfig', { taskId: id, url: 'http://127.0.0.1:9/hook', authentication });
    await send('that one', { message: { taskId: id } });
    const audit = await eventually(async () => {
      const { events } = await world.service.admin.get<{ events: readonly AuditEntry[] }>('/audit');
      expect(events.some(({ kind }) => kind.includes('refused'))).toBe(true);
      return events;
    });
    const written = JSON.stringify(audit) + lines.join('');
    for (const secret of [wrong, credentials, ADMIN_KEY]) expect(written.includes(secret)).toBe(false);
  });
});

describe('security', () => {
  it('answers HTTP with a challenge [AUTH-SERVER-003]', async () => {
    const { status, headers } = await fetch(`${world.service.url}/a2a/tasks`);
    expect([status, headers.get('www-authenticate')]).toEqual([401, expect.stringContaining('Bearer')]);
  });

  it('limits the depth of JSON [SEC-LIMIT-001]', async () => {
    const deep = `${'['.repeat(100)}${']'.repeat(100)}`;
    const { client } = world.service;
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: sending('x') });
    const response = await client.post(body.replace('"parts":', `"metadata":{"deep":${deep}},"parts":`));
    expect(await response.json()).toHaveProperty('error.code');
  });

  it('serves others than this machine only behind https, unless the operator insists [AUTH-TLS-001]', async () => {
    using folder = freshFolder();
    const { code, stderr } = await serveInVain(folder.path, { args: ['--host', '0.0.0.0'] });
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/--public-url https:/);
  });

  it('deletes a task for its owner [SEC-PRIVACY-001]', async () => {
    const { id } = await world.speak('JSONRPC').send('hello');
    const headers = { authorization: `Bearer ${ADMIN_KEY}`, 'a2a-version': '1.0' };
    const response = await fetch(`${world.service.url}/a2a/tasks/${id}`, { method: 'DELETE', headers });
    expect(response.ok).toBe(true);
    expectRefusal('JSONRPC', await world.speak('JSONRPC').refused('GetTask', { id }), 'TASK_NOT_FOUND');
  });
});
