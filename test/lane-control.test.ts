import { randomUUID } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { AdminFailure, type AuditEntry, type LaneEntry } from './support/admin-client.ts';
import { isState } from './support/event-stream.ts';
import { createGateAgent } from './support/gate-agent.ts';
import { openService, type TestService } from './support/service.ts';

const openGated = async () => {
  const gate = createGateAgent();
  const service = await openService({
    agents: { gate: { connector: gate.connector, default: true }, other: { connector: createGateAgent().connector } },
  });
  return { gate, service, client: service.client, admin: service.admin, [Symbol.asyncDispose]: () => service.close() };
};

const laneOf = async ({ admin }: TestService): Promise<LaneEntry> => {
  const { lanes } = await admin.get<{ lanes: LaneEntry[] }>('/lanes');
  expect(lanes).toHaveLength(1);
  return lanes[0]!;
};

const auditOf = async ({ admin }: TestService, subject: string): Promise<readonly string[]> => {
  const { events } = await admin.get<{ events: AuditEntry[] }>(`/audit?subject=${encodeURIComponent(subject)}`);
  return events.map(({ kind, actor }) => `${kind} by ${actor}`).toReversed();
};

describe('a paused lane', () => {
  it('starts nothing, lets what runs end, and goes on when it is resumed; both are in the audit', async () => {
    await using gated = await openGated();
    const { client, gate, admin, service } = gated;
    const contextId = randomUUID();
    const a = await client.submit('a', { contextId });
    const b = await client.submit('b', { contextId });
    const lane = await laneOf(service);
    expect(lane).toMatchObject({ agent: 'gate', waiting: 1, running: a.id, paused: false });

    expect(await admin.post('/lanes/pause', { lane: lane.key })).toEqual({ paused: true });
    const watchingA = await client.subscribe(a.id);
    (await gate.started('a')).end();
    await watchingA.until(isState('TASK_STATE_COMPLETED'));
    expect(await laneOf(service)).toMatchObject({ waiting: 1, running: null, paused: true });
    const c = await client.submit('c', { contextId });
    expect(c.status.state).toBe('TASK_STATE_SUBMITTED');
    // Somebody else's conversation is not paused, and when it has begun, so would b have.
    await client.submit('elsewhere', { contextId: randomUUID() });
    await gate.started('elsewhere');
    expect(gate.begun).toEqual(['a', 'elsewhere']);

    expect(await admin.post('/lanes/resume', { lane: lane.key })).toEqual({ paused: false });
    (await gate.started('b')).end();
    (await gate.started('c')).end();
    expect(gate.begun).toEqual(['a', 'elsewhere', 'b', 'c']);
    expect(b.metadata).toMatchObject({ queuePosition: 1 });
    expect(await auditOf(service, lane.key)).toEqual(['lane-paused by admin', 'lane-resumed by admin']);
  });

  it('takes cancels of what waits in it', async () => {
    await using gated = await openGated();
    const { client, gate, admin, service } = gated;
    await client.submit('a', { contextId: 'x' });
    const b = await client.submit('b', { contextId: 'x' });
    const { key } = await laneOf(service);
    await admin.post('/lanes/pause', { lane: key });
    expect((await client.cancel(b.id)).status.state).toBe('TASK_STATE_CANCELED');
    (await gate.started('a')).end();
    await admin.post('/lanes/resume', { lane: key });
  });

  it('must exist', async () => {
    await using gated = await openGated();
    const failure = await gated.admin.post('/lanes/pause', { lane: 'nowhere' }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(AdminFailure);
    expect(failure).toMatchObject({ status: 404, code: 'not-found' });
  });
});

describe('a paused agent', () => {
  it('starts nothing in any context until it is resumed, while others work; both are in the audit', async () => {
    await using gated = await openGated();
    const { client, gate, admin, service } = gated;
    expect(await admin.post('/lanes/pause', { agent: 'gate' })).toEqual({ paused: true });
    const waiting = await Promise.all([client.submit('one'), client.submit('two')]);
    expect(waiting.map(({ status }) => status.state)).toEqual(['TASK_STATE_SUBMITTED', 'TASK_STATE_SUBMITTED']);
    const other = await client.with({ path: '/agents/other' }).submit('hello');
    expect(other.status.state).toBe('TASK_STATE_WORKING');
    expect(gate.begun).toEqual([]);
    expect((await admin.get<{ pausedAgents: string[] }>('/lanes')).pausedAgents).toEqual(['gate']);
    const { agents } = await admin.get<{ agents: { name: string; paused: boolean }[] }>('/info');
    expect(agents).toMatchObject([
      { name: 'gate', paused: true },
      { name: 'other', paused: false },
    ]);

    expect(await admin.post('/lanes/resume', { agent: 'gate' })).toEqual({ paused: false });
    await Promise.all([gate.started('one'), gate.started('two')]);
    expect(await auditOf(service, 'gate')).toEqual(['agent-paused by admin', 'agent-resumed by admin']);
  });

  it('must exist', async () => {
    await using gated = await openGated();
    const failure = await gated.admin.post('/lanes/pause', { agent: 'nobody' }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ status: 404, code: 'agent-not-found' });
  });
});
