import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { refusalOf, statusTextOf } from './support/a2a-client.ts';
import { isState, stateOf } from './support/event-stream.ts';
import { eventually } from './support/eventually.ts';
import { createGateAgent } from './support/gate-agent.ts';
import { freshFolder } from './support/served-process.ts';
import { openService, type TestService } from './support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service.close());

describe('a cancel', () => {
  it('ends a waiting task at once, and it never runs', async () => {
    const gate = createGateAgent();
    await using gated = await openService({ agents: { gate: { connector: gate.connector } } });
    const { client } = gated;
    await client.submit('a', { contextId: 'x' });
    const waiting = await client.submit('b', { contextId: 'x' });
    const canceled = await client.cancel(waiting.id);
    expect(canceled).toMatchObject({
      id: waiting.id,
      status: { state: 'TASK_STATE_CANCELED' },
      metadata: { reason: 'canceled' },
    });
    await client.submit('c', { contextId: 'x' });
    (await gate.started('a')).end();
    await gate.started('c');
    expect(gate.begun).toEqual(['a', 'c']);
  });

  it('stops a running task and answers when it has ended', async () => {
    const { client } = service;
    const stream = await client.stream('@sleep 600000');
    const { task } = (await stream.next())!;
    const canceled = await client.cancel(task!.id);
    expect(canceled.status.state).toBe('TASK_STATE_CANCELED');
    expect(canceled.metadata).not.toHaveProperty('forced');
    const rest = await stream.rest();
    expect(rest.map(stateOf)).toEqual(['TASK_STATE_WORKING', 'TASK_STATE_CANCELED']);
    expect(rest[0]!.statusUpdate!.metadata).toEqual({ cancelRequested: true });
  });

  it('stops a task that streams, and nothing is added to it afterwards', async () => {
    const { client } = service;
    const stream = await client.stream('@stream 100000 1');
    const { task } = (await stream.next())!;
    await stream.until(({ artifactUpdate }) => artifactUpdate !== undefined);
    const canceled = await client.cancel(task!.id);
    const rest = await stream.rest();
    expect(stateOf(rest.at(-1)!)).toBe('TASK_STATE_CANCELED');
    expect(await client.get(task!.id)).toEqual(canceled);
  });

  it('ends a task that waits for an answer', async () => {
    const { client } = service;
    const asked = await client.send('@ask what?');
    expect((await client.cancel(asked.id)).status.state).toBe('TASK_STATE_CANCELED');
    expect((await refusalOf(client.send('this', { taskId: asked.id }))).code).toBe(-32004);
  });

  it('asked for twice at the same time, and once more, answers the same each time', async () => {
    const { client } = service;
    const task = await client.submit('@sleep 600000');
    const [one, two] = await Promise.all([client.cancel(task.id), client.cancel(task.id)]);
    const three = await client.cancel(task.id);
    expect([one, two, three].map(({ status }) => status.state)).toEqual(Array(3).fill('TASK_STATE_CANCELED'));
    expect(two).toEqual(one);
    expect(three).toEqual(one);
    const { events } = await service.admin.get<{ events: { kind: string }[] }>(`/tasks/${task.id}/events`);
    expect(events.filter(({ kind }) => kind === 'cancel-requested')).toHaveLength(1);
  });

  it.each(['hello', '@fail no', '@reject no'])('of a task that has ended (%s) is refused with -32002', async (text) => {
    const { client } = service;
    const task = await client.send(text);
    const refusal = await refusalOf(client.cancel(task.id));
    expect(refusal.code).toBe(-32002);
    expect(refusal.data[0]).toMatchObject({ reason: 'TASK_NOT_CANCELABLE' });
    expect(await client.get(task.id)).toEqual(task);
  });

  it("of a task that nobody knows, or that is somebody else's, is refused with -32001 and stops nothing", async () => {
    const { client } = service;
    const task = await client.submit('@sleep 600000');
    const stranger = await service.clientOf('stranger');
    const refusals = await Promise.all([refusalOf(client.cancel(randomUUID())), refusalOf(stranger.cancel(task.id))]);
    expect(refusals.map(({ code }) => code)).toEqual([-32001, -32001]);
    expect((await client.get(task.id)).status.state).toBe('TASK_STATE_WORKING');
    await client.cancel(task.id);
  });

  it('by the operator stops the task of any owner, and is in the audit', async () => {
    const owner = await service.clientOf('somebody');
    const task = await owner.submit('@sleep 600000');
    const view = await service.admin.post<{ task: { status: { state: string } }; owner: string }>(
      `/tasks/${task.id}/cancel`,
    );
    expect(view).toMatchObject({ owner: 'somebody', task: { status: { state: 'TASK_STATE_CANCELED' } } });
    const { events } = await service.admin.get<{ events: object[] }>(`/audit?subject=${task.id}`);
    expect(events).toMatchObject([{ kind: 'task-canceled', actor: 'admin', facts: { owner: 'somebody' } }]);
  });

  it('wins over an end that its agent reports afterwards', async () => {
    const gate = createGateAgent({ ignoresAbort: true });
    await using gated = await openService({ agents: { gate: { connector: gate.connector } } });
    const { client } = gated;
    const task = await client.submit('work');
    const run = await gate.started('work');
    const canceling = client.cancel(task.id);
    await eventually(() => expect(run.io.signal.aborted).toBe(true));
    run.end({ state: 'completed', message: run.io.say('too late') });
    expect((await canceling).status.state).toBe('TASK_STATE_CANCELED');
  });
});

describe('a run that does not die', () => {
  it('ends as forced after the grace period, and keeps its lane until it is dead', async () => {
    const gate = createGateAgent({ ignoresAbort: true });
    await using gated = await openService({
      agents: { gate: { connector: gate.connector } },
      settings: { cancelGraceMs: 100 },
    });
    const { client, admin } = gated;
    const task = await client.submit('stubborn', { contextId: 'x' });
    const next = await client.submit('next', { contextId: 'x' });
    const run = await gate.started('stubborn');
    const canceled = await client.cancel(task.id);
    expect(canceled).toMatchObject({
      status: { state: 'TASK_STATE_CANCELED' },
      metadata: { forced: true, reason: 'canceled' },
    });

    // The task has ended, the run has not: nobody else may run in its session.
    expect(await admin.get('/lanes')).toMatchObject({ lanes: [{ running: task.id, waiting: 1 }] });
    await client.submit('elsewhere', { contextId: 'z' });
    await gate.started('elsewhere');
    expect(gate.begun).not.toContain('next');
    expect((await client.get(next.id)).status.state).toBe('TASK_STATE_SUBMITTED');

    // What it still says is not heard.
    await run.io
      .emit({ kind: 'artifact', artifact: { artifactId: 'late', parts: [{ text: 'late' }] } })
      .catch(() => undefined);
    run.end();
    await gate.started('next');
    expect(await client.get(task.id)).toEqual(canceled);
  });

  it('keeps its lane no longer than the quarantine', async () => {
    const gate = createGateAgent({ ignoresAbort: true });
    await using gated = await openService({
      agents: { gate: { connector: gate.connector } },
      settings: { cancelGraceMs: 50, quarantineMs: 300 },
    });
    const { client } = gated;
    const task = await client.submit('stubborn', { contextId: 'x' });
    const next = await client.submit('next', { contextId: 'x' });
    await client.cancel(task.id);
    await gate.started('next');
    // And no shorter: both times are those of the events, however late we get to look.
    const [ended, begun] = await Promise.all([task, next].map(({ id }) => client.get(id)));
    expect(Date.parse(begun!.status.timestamp) - Date.parse(ended!.status.timestamp)).toBeGreaterThanOrEqual(290);
  });
});

describe('a task that takes too long', () => {
  it('fails with the reason timeout, its run is stopped, and the lane goes on', async () => {
    const gate = createGateAgent();
    await using gated = await openService({ agents: { gate: { connector: gate.connector, taskTimeoutMs: 150 } } });
    const { client } = gated;
    const stream = await client.stream('slow', { contextId: 'x' });
    await client.submit('next', { contextId: 'x' });
    const run = await gate.started('slow');
    const { statusUpdate } = await stream.until(isState('TASK_STATE_FAILED'));
    expect(statusUpdate!.metadata).toEqual({ reason: 'timeout' });
    expect(run.io.signal.reason).toBe('timeout');
    const failed = await client.get(statusUpdate!.taskId);
    expect(failed.metadata).toMatchObject({ reason: 'timeout' });
    expect(statusTextOf(failed)).toContain('timed out');
    await gate.started('next');
  });

  it('to get its turn fails with the reason queue-timeout', async () => {
    const gate = createGateAgent();
    await using gated = await openService({
      agents: { gate: { connector: gate.connector } },
      settings: { queueTimeoutMs: 100, janitorMs: 50 },
    });
    const { client } = gated;
    await client.submit('first', { contextId: 'x' });
    const stream = await client.stream('second', { contextId: 'x' });
    const { statusUpdate } = await stream.until(isState('TASK_STATE_FAILED'));
    expect(statusUpdate!.metadata).toEqual({ reason: 'queue-timeout' });
  });

  it('to be tried again fails with the same reason', async () => {
    const gate = createGateAgent();
    await using gated = await openService({
      agents: { gate: { connector: gate.connector, recovery: 'retry' } },
      settings: { queueTimeoutMs: 100, janitorMs: 50, retryMs: 1 },
    });
    const stream = await gated.client.stream('once');
    const run = await gate.started('once');
    // Nobody takes it up again.
    await gated.admin.post('/lanes/pause', { agent: 'gate' });
    run.end({ state: 'failed', retryable: true });
    const { statusUpdate } = await stream.until(isState('TASK_STATE_FAILED'));
    expect(statusUpdate!.metadata).toEqual({ reason: 'queue-timeout' });
    expect(statusTextOf(await gated.client.get(statusUpdate!.taskId))).toContain('tried again');
  });

  it('to get its turn fails together with all others that did', async () => {
    using folder = freshFolder();
    const shared = {
      store: `sqlite:${folder.path}/sealane.db`,
      agents: { gate: createGateAgent().connector },
    } as const;
    const waiting: string[] = [];
    {
      await using patient = await openService(shared);
      await patient.admin.post('/lanes/pause', { agent: 'gate' });
      const tasks = await Promise.all(Array.from({ length: 110 }, () => patient.client.submit('wait')));
      waiting.push(...tasks.map(({ id }) => id));
    }
    await using impatient = await openService({ ...shared, settings: { queueTimeoutMs: 0, janitorMs: 3_600_000 } });
    const open = async () => (await impatient.client.list({ status: 'TASK_STATE_SUBMITTED' })).totalSize;
    await expect.poll(open).toBe(0);
    expect((await impatient.client.get(waiting.at(-1)!)).metadata).toMatchObject({ reason: 'queue-timeout' });
  });

  it('to get its answer fails with the reason input-timeout', async () => {
    await using impatient = await openService({ settings: { inputTimeoutMs: 100, janitorMs: 50 } });
    const { client } = impatient;
    const asked = await client.send('@ask what?');
    // From its first event on: its time may be up before we ask.
    const watching = await client.subscribe(asked.id, 0);
    await watching.until(isState('TASK_STATE_INPUT_REQUIRED'));
    const { statusUpdate } = await watching.until(isState('TASK_STATE_FAILED'));
    expect(statusUpdate!.metadata).toEqual({ reason: 'input-timeout' });
  });
});

it('a call that waits gets the task as it is when its time is up, and the task goes on', async () => {
  await using hurried = await openService({ settings: { waitMs: 100 } });
  const { client } = hurried;
  const task = await client.send('@sleep 600000');
  expect(task.status.state).toBe('TASK_STATE_WORKING');
  expect((await client.get(task.id)).status.state).toBe('TASK_STATE_WORKING');
});
