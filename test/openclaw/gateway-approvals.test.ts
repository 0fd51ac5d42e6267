import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, it } from 'vitest';

import { type A2aClient, answerOf, refusalOf, statusTextOf, type WireTask } from '../support/a2a-client.ts';
import { eventually } from '../support/eventually.ts';
import { type OpenclawWorld, openOpenclawWorld } from './openclaw-world.ts';
import { openRawGateway, type RawGateway } from './raw-gateway.ts';

let world: OpenclawWorld;
let operator: RawGateway;

beforeAll(async () => {
  world = await openOpenclawWorld();
  await using service = await world.service();
  await service.client.send('warm up');
  // OpenClaw lets a command wait only while somebody is there who may decide.
  operator = await openRawGateway({
    url: world.gateway.url,
    token: world.gateway.token,
    scopes: ['operator.read', 'operator.write', 'operator.approvals', 'operator.admin'],
    caps: ['approvals'],
  });
});

afterAll(async () => {
  operator?.[Symbol.dispose]();
  await world?.[Symbol.asyncDispose]();
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
  const done = await eventually(async () => {
    const now = await client.get(task.id);
    expect(now.status.state).toBe('TASK_STATE_COMPLETED');
    return now;
  }, 30_000);
  expect(answerOf(done)).toContain('RESULTS');
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
