import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type A2aClient, answerOf, refusalOf, statusTextOf, type WireTask } from '../support/a2a-client.ts';
import { eventually } from '../support/eventually.ts';
import { freshFolder } from '../support/served-process.ts';
import type { TestService } from '../support/service.ts';
import { type OpenclawWorld, openOpenclawWorld } from './openclaw-world.ts';
import { openRawGateway, type RawGateway } from './raw-gateway.ts';

let world: OpenclawWorld;

beforeAll(async () => {
  world = await openOpenclawWorld();
  await using service = await world.service();
  await service.client.send('warm up');
});

afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

const openOperator = (): Promise<RawGateway> =>
  openRawGateway({
    url: world.gateway.url,
    token: world.gateway.token,
    scopes: ['operator.read', 'operator.write', 'operator.approvals', 'operator.admin'],
    caps: ['approvals'],
  });

interface Approval {
  readonly id: string;
  readonly request: { readonly command: string };
}

const touch = (place: string): string => `TOOL:exec ${JSON.stringify({ command: `touch ${place}` })}`;

const waiting = (client: A2aClient, { id }: WireTask): Promise<WireTask> =>
  eventually(async () => {
    const task = await client.get(id);
    expect(task.status.state).toBe('TASK_STATE_WORKING');
    expect(statusTextOf(task)).toContain('waits for the approval of an operator');
    return task;
  }, 30_000);

const completed = (client: A2aClient, { id }: WireTask): Promise<WireTask> =>
  eventually(async () => {
    const task = await client.get(id);
    expect(task.status.state).toBe('TASK_STATE_COMPLETED');
    return task;
  }, 30_000);

describe('with approvals: sealane', () => {
  interface Listed {
    readonly id: string;
    readonly taskId: string;
    readonly agent: string;
    readonly command: string;
    readonly createdAt: string;
    readonly expiresAt: string;
  }

  const listed = (service: TestService, { id }: WireTask): Promise<Listed> =>
    eventually(async () => {
      const { approvals } = await service.admin.get<{ approvals: readonly Listed[] }>('/approvals');
      const found = approvals.find(({ taskId }) => taskId === id);
      expect(found).toBeDefined();
      return found!;
    }, 30_000);

  it('an operator of Sealane lets a command run that waits; neither its caller nor another key can', async () => {
    await using service = await world.service({ connector: { approvals: 'sealane' } });
    const client = await service.clientOf('peer', { permission: 'guarded' });
    const place = join(world.gateway.home, 'allowed-here');
    const task = await client.submit(touch(place));
    const approval = await listed(service, task);
    expect(approval).toMatchObject({ agent: 'main', taskId: task.id, command: `touch ${place}` });
    expect(Date.parse(approval.expiresAt) - Date.parse(approval.createdAt)).toBe(30 * 60_000);
    await waiting(client, task);
    await refusalOf(client.send('allow-once', { taskId: task.id }));
    await refusalOf(client.send(`/approve ${approval.id} allow-once`, { taskId: task.id }));
    const { key } = await service.admin.post<{ key: string }>('/keys', { name: 'other', owner: 'admin' });
    const refused = await fetch(`${service.url}/admin/approvals/${approval.id}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ decision: 'allow-once' }),
    });
    expect(refused.status).toBe(403);
    expect(existsSync(place)).toBe(false);
    await service.admin.post(`/approvals/${approval.id}`, { decision: 'allow-once' });
    expect(answerOf(await completed(client, task))).toContain('RESULTS');
    expect(existsSync(place)).toBe(true);
    expect(await service.admin.get('/approvals')).toMatchObject({ approvals: [], problems: [] });
    await expect(service.admin.post(`/approvals/${approval.id}`, { decision: 'deny' })).rejects.toMatchObject({
      status: 404,
    });
  });

  it('runs nothing that an operator of Sealane denies, and the task goes on', async () => {
    await using service = await world.service({ connector: { approvals: 'sealane' } });
    const client = await service.clientOf('peer', { permission: 'guarded' });
    const place = join(world.gateway.home, 'denied-here');
    const task = await client.submit(touch(place));
    await service.admin.post(`/approvals/${(await listed(service, task)).id}`, { decision: 'deny' });
    expect(answerOf(await completed(client, task))).toMatch(/denied/i);
    expect(existsSync(place)).toBe(false);
  });

  it('still waits when Sealane was started anew, and then for the new one', async () => {
    using folder = freshFolder();
    const options = {
      connector: { approvals: 'sealane' },
      sealane: { store: `sqlite:${join(folder.path, 'tasks.db')}` },
    } as const;
    const first = await world.service(options);
    const client = await first.clientOf('peer', { permission: 'guarded' });
    const place = join(world.gateway.home, 'allowed-later');
    const task = await client.submit(touch(place));
    const before = await listed(first, task);
    await first.close();
    await using second = await world.service(options);
    const after = await listed(second, task);
    expect(after).toEqual(before);
    await second.admin.post(`/approvals/${after.id}`, { decision: 'allow-once' });
    const same = await second.clientOf('peer', { name: 'peer-again', permission: 'guarded' });
    expect(answerOf(await completed(same, task))).toContain('RESULTS');
    expect(existsSync(place)).toBe(true);
  });

  it('gives runs no more rights than before, and shows nothing that waits elsewhere in OpenClaw', async () => {
    await using service = await world.service({ connector: { approvals: 'sealane' } });
    using operator = await openOperator();
    await service.client.send('look-at-tools-again');
    expect(world.model.about('look-at-tools-again')[0]?.tools).not.toContain('openclaw');
    const sessionKey = 'agent:main:somebody-else';
    await operator.request('sessions.patch', { key: sessionKey, permissionMode: 'guarded' });
    const asked = operator.event<Approval>((name) => name === 'exec.approval.requested');
    const place = join(world.gateway.home, 'not-ours');
    const params = { message: touch(place), sessionKey, idempotencyKey: 'not-ours', deliver: false };
    const run = operator.agent(params);
    const { id } = await asked;
    expect(await service.admin.get('/approvals')).toMatchObject({ approvals: [] });
    await expect(service.admin.post(`/approvals/${id}`, { decision: 'allow-once' })).rejects.toMatchObject({
      status: 404,
    });
    await operator.request('exec.approval.resolve', { id, decision: 'deny' });
    await run;
    expect(existsSync(place)).toBe(false);
  });

  it('ends the waiting with the timeout of the task', async () => {
    await using service = await world.service({ connector: { approvals: 'sealane' }, agent: { taskTimeoutMs: 8000 } });
    const client = await service.clientOf('peer', { permission: 'guarded' });
    const place = join(world.gateway.home, 'too-late-here');
    const task = await client.submit(touch(place));
    const { id } = await listed(service, task);
    await eventually(async () => expect((await client.get(task.id)).status.state).toBe('TASK_STATE_FAILED'), 30_000);
    await expect(service.admin.post(`/approvals/${id}`, { decision: 'allow-once' })).rejects.toMatchObject({
      status: 404,
    });
    expect(existsSync(place)).toBe(false);
  });

  it('says in its health that it can decide', async () => {
    await using service = await world.service({ connector: { approvals: 'sealane' } });
    const { agents } = await service.admin.get<{ agents: readonly object[] }>('/health');
    expect(agents).toMatchObject([{ name: 'main', ok: true }]);
  });
});

describe('with approvals: wait', () => {
  let operator: RawGateway;
  beforeAll(async () => {
    // OpenClaw lets a command wait only while somebody is there who may decide.
    operator = await openOperator();
  });
  afterAll(() => operator?.[Symbol.dispose]());

  it('keeps a task at work while a command waits for approval, which only an operator gives', async () => {
    await using service = await world.service({ connector: { approvals: 'wait' } });
    const client = await service.clientOf('peer', { permission: 'guarded' });
    const place = join(world.gateway.home, 'approved');
    const asked = operator.event<Approval>((name) => name === 'exec.approval.requested');
    const task = await client.submit(touch(place));
    const approval = await asked;
    expect(approval.request.command).toContain(place);
    await waiting(client, task);
    // A caller's word is no approval, however it is put.
    await refusalOf(client.send('allow-once', { taskId: task.id }));
    await refusalOf(client.send(`/approve ${approval.id} allow-once`, { taskId: task.id }));
    expect(existsSync(place)).toBe(false);
    await operator.request('exec.approval.resolve', { id: approval.id, decision: 'allow-once' });
    expect(answerOf(await completed(client, task))).toContain('RESULTS');
    expect(existsSync(place)).toBe(true);
  });

  it('runs nothing that an operator denies', async () => {
    await using service = await world.service({ connector: { approvals: 'wait' } });
    const client = await service.clientOf('peer', { permission: 'guarded' });
    const place = join(world.gateway.home, 'denied');
    const asked = operator.event<Approval>((name) => name === 'exec.approval.requested');
    const sent = client.send(touch(place));
    await operator.request('exec.approval.resolve', { id: (await asked).id, decision: 'deny' });
    expect(answerOf(await sent)).toMatch(/denied/i);
    expect(existsSync(place)).toBe(false);
  });

  it('ends the waiting with the timeout of the task, and with it the approval', async () => {
    await using service = await world.service({ connector: { approvals: 'wait' }, agent: { taskTimeoutMs: 5000 } });
    const client = await service.clientOf('peer', { permission: 'guarded' });
    const place = join(world.gateway.home, 'too-late');
    const asked = operator.event<Approval>((name) => name === 'exec.approval.requested');
    const task = await client.send(touch(place));
    expect(task.status.state).toBe('TASK_STATE_FAILED');
    expect(statusTextOf(task)).toContain('timed out');
    const { id } = await asked;
    await expect(operator.request('exec.approval.resolve', { id, decision: 'allow-once' })).rejects.toThrow();
    expect(existsSync(place)).toBe(false);
  });
});
