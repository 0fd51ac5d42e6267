import { randomUUID } from 'node:crypto';

import { type AgentConnector, createEchoAgent, SealaneError } from 'sealane';
import { openStore } from 'sealane/store';
import { describe, expect, it } from 'vitest';

import { eager, soon, withoutAnswer, withTasks } from './support/early-runs.ts';
import { createGateAgent } from './support/gate-agent.ts';
import { openService, type TestService } from './support/service.ts';

/** A lane that nobody runs in, paused behind the back of the dispatcher, as by another instance. */
const pauseLane = async (
  { client, admin, caller }: TestService,
  connector: AgentConnector,
  gate: ReturnType<typeof createGateAgent>,
) => {
  const contextId = randomUUID();
  const lane = connector.session({ owner: caller.owner, tenant: '', agent: 'gate', contextId });
  const { id } = await client.submit('in the way', { contextId });
  await admin.post('/lanes/pause', { lane });
  (await gate.started('in the way')).end();
  await expect.poll(async () => (await client.get(id)).status.state).toBe('TASK_STATE_COMPLETED');
  return { contextId, resume: () => admin.post('/lanes/resume', { lane }) };
};

describe('a run that begins before its task is stored', () => {
  it('is in vain where its turn has to wait: it is stopped, and another begins when it is its turn', async () => {
    await using storage = await openStore('memory');
    const gate = createGateAgent();
    const connector = eager(gate);
    await using service = await openService({ store: storage, agents: { gate: { connector, concurrency: 2 } } });
    const { client } = service;
    const { contextId, resume } = await pauseLane(service, connector, gate);
    const task = await client.submit('waits', { contextId });
    expect(task.status.state).toBe('TASK_STATE_SUBMITTED');
    const vain = await gate.started('waits');
    await expect.poll(() => vain.io.signal.reason).toBe('in-vain');
    await expect(vain.io.remember({ pid: 1 })).rejects.toThrow('began early');
    const said = vain.io.emit({ kind: 'status', message: vain.io.say('for nothing') });
    await expect(said).rejects.toThrow('began early');
    // One turn has begun so far, after its wait; this one still waits.
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    expect(metrics).toContain('sealane_wait_seconds_count{agent="gate"} 1\n');
    // Its slot is free: there are two.
    const others = ['elsewhere', 'and there'].map((text) => client.send(text));
    const began = await Promise.all([gate.started('elsewhere'), gate.started('and there')]);
    for (const run of began) run.end();
    for (const other of await Promise.all(others)) expect(other.status.state).toBe('TASK_STATE_COMPLETED');

    await resume();
    (await gate.startedAt(4)).end();
    await expect.poll(async () => (await client.get(task.id)).status.state).toBe('TASK_STATE_COMPLETED');
    expect(gate.begun.filter((text) => text === 'waits')).toHaveLength(2);
    const log = await storage.tasks.read('all', task.id, 0, 100);
    expect(log.map(({ event }) => event.kind)).toEqual(['task-admitted', 'run-started', 'turn-ended']);
  });

  it('is stopped where its message is refused, or cannot be stored, and the caller is told why', async () => {
    await using storage = await openStore('memory');
    let isBroken = true;
    const store = withTasks(storage, (tasks) => ({
      admit: (admission) =>
        isBroken
          ? Promise.reject(new SealaneError('unavailable', 'The disk is gone.'))
          : admission.message.messageId === 'refused'
            ? Promise.resolve({ ok: false, why: 'full' } as const)
            : tasks.admit(admission),
    }));
    const gate = createGateAgent();
    // Two slots each: one may be held for a moment by a look at what waits.
    const agents = {
      gate: { connector: eager(gate), concurrency: 2, default: true },
      echo: { connector: createEchoAgent(), concurrency: 2 },
    };
    await using service = await openService({ store, agents });
    const { client } = service;
    const echo = client.with({ path: '/agents/echo' });
    for (const sender of [client, echo]) {
      await expect(sender.send('lost')).rejects.toThrow('The disk is gone.');
      await expect(sender.stream('lost, too')).rejects.toThrow('The disk is gone.');
    }
    // They have their slots until they are over.
    await soon();
    isBroken = false;
    for (const sender of [client, echo]) {
      await expect(sender.send('refused', { messageId: 'refused' })).rejects.toMatchObject({ status: 200 });
    }
    await soon();
    expect((await gate.started('lost')).io.signal.reason).toBe('in-vain');
    expect((await gate.started('refused')).io.signal.reason).toBe('in-vain');
    // Their slots are free.
    expect((await echo.send('well')).status.state).toBe('TASK_STATE_COMPLETED');
    const well = client.send('well');
    (await gate.started('well')).end();
    expect((await well).status.state).toBe('TASK_STATE_COMPLETED');
    expect(await client.list({})).toMatchObject({ totalSize: 2 });
  });

  it('ends as ever with a store that leaves answers out', async () => {
    await using storage = await openStore('memory');
    const store = withTasks(storage, (tasks) => ({
      admit: (admission) => tasks.admit(withoutAnswer(admission)),
    }));
    await using service = await openService({ store });
    const task = await service.client.send('hello');
    expect(task).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ parts: [{ text: 'hello' }] }],
    });
  });

  it('ends as ever where its answer is what the store cannot take', async () => {
    await using storage = await openStore('memory');
    const store = withTasks(storage, (tasks) => ({
      admit: (admission) => (admission.answer ? Promise.reject(new Error('Not that.')) : tasks.admit(admission)),
    }));
    await using service = await openService({ store });
    expect((await service.client.send('hello')).status.state).toBe('TASK_STATE_COMPLETED');
  });

  it('is told what a store says that does not know whether it has stored it, and does not ask again', async () => {
    await using storage = await openStore('memory');
    let admissions = 0;
    const store = withTasks(storage, (tasks) => ({
      admit: async (admission) => {
        admissions += 1;
        await tasks.admit(admission);
        throw new SealaneError('unavailable', 'Look before you repeat it.', { facts: { outcome: 'unknown' } });
      },
    }));
    await using service = await openService({ store });
    await expect(service.client.send('hello')).rejects.toThrow('Look before you repeat it.');
    expect(admissions).toBe(1);
  });

  it('is refused by a store that throws at once, and the process goes on', async () => {
    await using storage = await openStore('memory');
    const store = withTasks(storage, () => ({
      admit: () => {
        throw new SealaneError('unavailable', 'Not now.');
      },
    }));
    const gate = createGateAgent();
    await using service = await openService({ store, agents: { gate: eager(gate), echo: createEchoAgent() } });
    for (const path of ['/agents/gate', '/agents/echo']) {
      await expect(service.client.with({ path }).send('hello')).rejects.toThrow('Not now.');
    }
  });

  it('in vain that does not die is waited for, also when its turn has been run by another', async () => {
    await using storage = await openStore('memory');
    const gate = createGateAgent({ ignoresAbort: true });
    const isClosed = Promise.withResolvers<void>();
    let closed = false;
    const connector = {
      ...eager(gate),
      close: async () => {
        closed = true;
        isClosed.resolve();
      },
    };
    await using service = await openService({ store: storage, agents: { gate: { connector, concurrency: 8 } } });
    const { client, sealane } = service;
    const { contextId, resume } = await pauseLane(service, connector, gate);
    const task = await client.submit('waits', { contextId });
    const vain = await gate.startedAt(1);
    await resume();
    (await gate.startedAt(2)).end();
    await expect.poll(async () => (await client.get(task.id)).status.state).toBe('TASK_STATE_COMPLETED');
    sealane.replaceAgents({ echo: createEchoAgent() });
    await soon();
    expect(closed).toBe(false);
    vain.end();
    await isClosed.promise;
  });
});
