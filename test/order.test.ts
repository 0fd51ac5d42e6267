import { randomUUID } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { refusalOf } from './support/a2a-client.ts';
import type { AuditEntry, LaneEntry } from './support/admin-client.ts';
import { isState, stateOf } from './support/event-stream.ts';
import { eventually } from './support/eventually.ts';
import { createGateAgent } from './support/gate-agent.ts';
import { openService } from './support/service.ts';

const openGated = async (concurrency = 16) => {
  const gate = createGateAgent();
  const service = await openService({ agents: { gate: { connector: gate.connector, default: true, concurrency } } });
  return { gate, service, client: service.client, admin: service.admin, [Symbol.asyncDispose]: () => service.close() };
};

describe('turns of one context', () => {
  it('wait visibly while the first one runs: submitted, with queuedAt and their position', async () => {
    await using gated = await openGated();
    const { client, gate } = gated;
    const contextId = randomUUID();
    const before = Date.now();
    const a = await client.submit('a', { contextId });
    const b = await client.submit('b', { contextId, metadata: { mine: 'kept' } });
    const c = await client.submit('c', { contextId });

    expect(a.status.state).toBe('TASK_STATE_WORKING');
    expect(a.metadata).toBeUndefined();
    expect([b, c].map(({ status }) => status.state)).toEqual(['TASK_STATE_SUBMITTED', 'TASK_STATE_SUBMITTED']);
    expect(b.metadata).toEqual({ mine: 'kept', queuePosition: 1, queuedAt: expect.any(Number) });
    expect(b.metadata?.['queuedAt']).toBeGreaterThanOrEqual(before);
    expect(b.metadata?.['queuedAt']).toBeLessThanOrEqual(Date.now());
    expect(c.metadata).toMatchObject({ queuePosition: 2 });
    expect((await client.list({ contextId, status: 'TASK_STATE_SUBMITTED' })).tasks.map(({ id }) => id).sort()).toEqual(
      [b.id, c.id].sort(),
    );

    const watchingB = await client.subscribe(b.id);
    (await gate.started('a')).end();
    await watchingB.until(isState('TASK_STATE_WORKING'));
    expect(await client.get(a.id)).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } });
    const running = await client.get(b.id);
    expect(running.metadata).toEqual({ mine: 'kept' });
    expect(await client.get(c.id)).toMatchObject({
      status: { state: 'TASK_STATE_SUBMITTED' },
      metadata: { queuePosition: 1 },
    });
  });

  it('run one after the other, in the order in which they were sent', async () => {
    await using gated = await openGated();
    const { client, gate } = gated;
    const contextId = randomUUID();
    const texts = Array.from({ length: 12 }, (_, index) => `turn ${index}`);
    const answers: Promise<unknown>[] = [];
    for (const text of texts) {
      const task = await client.submit(text, { contextId });
      answers.push(client.subscribe(task.id).then((stream) => stream.rest()));
    }
    for (const text of texts) (await gate.started(text)).end();
    await Promise.all(answers);
    expect(gate.begun).toEqual(texts);
    expect(gate.mostAtOnce()).toBe(1);
  });

  it('do not hold up another context, which runs at the same time', async () => {
    await using gated = await openGated();
    const { client, gate } = gated;
    const here = await client.submit('here', { contextId: 'ctx-1' });
    const there = await client.submit('there', { contextId: 'ctx-2' });
    await Promise.all([gate.started('here'), gate.started('there')]);
    expect(gate.mostAtOnce()).toBe(2);
    expect([here, there].map(({ status }) => status.state)).toEqual(['TASK_STATE_WORKING', 'TASK_STATE_WORKING']);
  });

  it('go on when one that waited was canceled', async () => {
    await using gated = await openGated();
    const { client, gate } = gated;
    const contextId = randomUUID();
    await client.submit('a', { contextId });
    const b = await client.submit('b', { contextId });
    const c = await client.submit('c', { contextId });
    expect((await client.cancel(b.id)).status.state).toBe('TASK_STATE_CANCELED');
    expect((await client.get(c.id)).metadata).toMatchObject({ queuePosition: 1 });
    (await gate.started('a')).end();
    await gate.started('c');
    expect(gate.begun).toEqual(['a', 'c']);
  });

  it('go on when ones that waited were deleted by the operator', async () => {
    await using gated = await openGated();
    const { client, gate, admin } = gated;
    const contextId = randomUUID();
    await client.submit('a', { contextId });
    const b = await client.submit('b', { contextId });
    const c = await client.submit('c', { contextId });
    const d = await client.submit('d', { contextId });
    await admin.delete(`/tasks/${b.id}`);
    await admin.delete(`/tasks/${c.id}`);
    expect((await refusalOf(client.get(b.id))).code).toBe(-32001);
    expect((await client.get(d.id)).metadata).toMatchObject({ queuePosition: 1 });
    (await gate.started('a')).end();
    await gate.started('d');
    expect(gate.begun).toEqual(['a', 'd']);
    const { events } = await admin.get<{ events: AuditEntry[] }>('/audit?kind=task-deleted');
    expect(events.map(({ subject }) => subject).sort()).toEqual([b.id, c.id].sort());
  });

  it('that are deleted while they wait are canceled: their readers hear of it, and so do those who wait for them', async () => {
    await using gated = await openGated();
    const { client, admin } = gated;
    await client.submit('a', { contextId: 'x' });
    const waiting = client.send('b', { contextId: 'x' });
    const id = await eventually(async () => {
      const { tasks } = await client.list({ contextId: 'x', status: 'TASK_STATE_SUBMITTED' });
      expect(tasks).toHaveLength(1);
      return tasks[0]!.id;
    });
    const watching = await client.subscribe(id);
    await watching.next();
    await admin.delete(`/tasks/${id}`);
    const rest = await watching.rest();
    expect(rest.map(({ statusUpdate }) => statusUpdate?.status.state)).toEqual(['TASK_STATE_CANCELED']);
    expect((await waiting).status.state).toBe('TASK_STATE_CANCELED');
    expect((await refusalOf(client.get(id))).code).toBe(-32001);
  });

  it('are refused at the 10,000th that would wait, with an error and no task', async () => {
    await using gated = await openGated();
    const { client, gate, admin, service } = gated;
    const contextId = 'crowded';
    await client.submit('first', { contextId });
    await gate.started('first');
    const signal = new AbortController().signal;
    for (let sent = 0; sent < 9999; sent += 1111) {
      await Promise.all(
        Array.from({ length: 1111 }, (_, index) =>
          service.sealane.tasks.send(
            service.caller,
            {
              message: { messageId: `m-${sent + index}`, role: 'ROLE_USER', parts: [{ text: 'wait' }], contextId },
              dialect: '1.0',
            },
            { wait: false, signal },
          ),
        ),
      );
    }
    const { total } = await admin.get<{ total: number }>(`/tasks?contextId=${contextId}&state=submitted&limit=1`);
    expect(total).toBe(9999);

    const refusal = await refusalOf(client.submit('one too many', { contextId }));
    expect(refusal.code).toBe(-32015);
    expect(refusal.message).toContain('9999 waiting messages');
    expect(refusal.headers.get('retry-after')).toBe('10');
    const after = await admin.get<{ total: number }>(`/tasks?contextId=${contextId}&limit=1`);
    expect(after.total).toBe(10_000);
    const { lanes } = await admin.get<{ lanes: LaneEntry[] }>('/lanes');
    expect(lanes).toMatchObject([{ waiting: 9999, owner: service.caller.owner }]);

    // Another conversation of the same owner is not full.
    expect((await client.submit('elsewhere', { contextId: 'quiet' })).status.state).toBe('TASK_STATE_WORKING');
  });
});

describe('the turns of different owners', () => {
  it('take turns: one task of a newcomer does not wait for the hundred of somebody else', async () => {
    await using gated = await openGated(1);
    const { gate, service } = gated;
    const [busy, newcomer] = await Promise.all([service.clientOf('busy'), service.clientOf('newcomer')]);
    await busy.submit('busy 0');
    await gate.started('busy 0');
    for (let index = 1; index <= 100; index += 1) await busy.submit(`busy ${index}`);
    const mine = await newcomer.stream('mine');
    expect(stateOf((await mine.next())!)).toBe('TASK_STATE_SUBMITTED');

    (await gate.started('busy 0')).end();
    for (let index = 1; !gate.begun.includes('mine'); index += 1) (await gate.startedAt(index)).end();
    expect(gate.begun.indexOf('mine')).toBeLessThanOrEqual(2);
    expect(gate.mostAtOnce()).toBe(1);
  });
});
