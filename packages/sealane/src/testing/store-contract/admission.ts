import { runIdOf } from '#domain';

import { accepted, kindsOf, refusal } from './contract-events.ts';
import type { Suite } from './suite.ts';

export const describeAdmission = ({ it, expect }: Suite): void => {
  it('creates the task, its first event and its turn', async (c) => {
    const admission = c.admission({
      dialect: '0.3',
      tenant: 'acme',
      direct: true,
      metadata: { plan: 7 },
      message: c.message('do it'),
    });
    const { task, events, again, run } = accepted(await c.tasks.admit(admission));
    expect(again).toBe(false);
    expect(run).toBe(undefined);
    expect(task).toMatchObject({
      id: admission.id,
      contextId: admission.contextId,
      owner: c.owner,
      tenant: 'acme',
      agent: c.agent,
      dialect: '0.3',
      lane: admission.session,
      direct: true,
      state: 'submitted',
      statusMessage: null,
      queuePosition: 0,
      queuedAt: admission.at,
      seq: 1,
    });
    expect(JSON.parse(task.history)).toEqual([admission.message]);
    expect(JSON.parse(task.metadata)).toEqual({ plan: 7 });
    expect(JSON.parse(task.artifacts)).toEqual([]);
    expect(events).toEqual(await c.log(admission.id));
    expect(events[0]?.event).toEqual({
      kind: 'task-admitted',
      state: 'submitted',
      message: admission.message,
      metadata: { plan: 7 },
      queuedAt: admission.at,
      queuePosition: 0,
    });
    expect(await c.tasks.find('all', admission.id)).toEqual(task);
  });

  it('starts the turn in the same step with a slot and an idle lane', async (c) => {
    const me = await c.instance();
    const admission = c.admission({
      slot: { instance: me },
      metadata: { a: 1 },
      call: { permission: 'guarded', traceparent: 'trace', ancestors: ['other.1'] },
    });
    const { task, events, run } = accepted(await c.tasks.admit(admission));
    expect(task.state).toBe('working');
    expect(task.queuePosition).toBe(undefined);
    expect(kindsOf(events)).toEqual(['task-admitted', 'run-started']);
    // A task that did not wait says nothing about waiting.
    expect(events[0]?.event).toEqual({
      kind: 'task-admitted',
      state: 'submitted',
      message: admission.message,
      metadata: { a: 1 },
    });
    expect(run).toMatchObject({
      token: { taskId: task.id },
      contextId: admission.contextId,
      owner: c.owner,
      tenant: c.tenant,
      agent: c.agent,
      session: admission.session,
      turn: 1,
      attempt: 1,
      message: admission.message,
      metadata: { a: 1 },
      call: admission.call,
      queuedAt: admission.at,
      startedAt: admission.at,
      cancelRequested: false,
      ended: false,
      seq: 2,
    });
    expect(run?.ref).toBe(undefined);
    expect(await c.claim(me)).toEqual([]);
  });

  it('starts nothing without a slot', async (c) => {
    const { task, run } = await c.admit();
    expect(run).toBe(undefined);
    expect(task.state).toBe('submitted');
  });

  it('starts nothing in a lane that is busy, though there is a slot', async (c) => {
    const me = await c.instance();
    await c.start(me, { session: c.name('main') });
    const { task, run } = await c.admit({ slot: { instance: me } });
    expect(run).toBe(undefined);
    expect(task).toMatchObject({ state: 'submitted', queuePosition: 1 });
  });

  it('does not overtake a turn that waits in an idle lane, though there is a slot', async (c) => {
    const me = await c.instance();
    const { task: earlier } = await c.admit();
    const { task, run } = await c.admit({ slot: { instance: me } });
    expect(run).toBe(undefined);
    expect(task).toMatchObject({ state: 'submitted', queuePosition: 1 });
    expect((await c.claimOne(me)).token.taskId).toBe(earlier.id);
  });

  it('starts nothing in a paused lane, though there is a slot', async (c) => {
    const me = await c.instance();
    const running = await c.start(me, { session: c.name('main') });
    await c.storage.lanes.pause(c.name('main'), true, 'operator', c.later());
    await c.complete(running);
    const { run } = await c.admit({ slot: { instance: me } });
    expect(run).toBe(undefined);
  });

  it('`full`: refuses a turn when the lane holds as many waiting turns as it may, and leaves no trace', async (c) => {
    const me = await c.instance();
    const limits = { laneWaiting: 2, ownerWaiting: 0 };
    const running = await c.start(me, { session: c.name('main'), limits });
    await c.admit({ limits });
    await c.admit({ limits });
    const before = await c.storage.upkeep.counts();
    const idempotency = { key: c.name('key'), bodyHash: 'body' };
    const refused = c.admission({ limits, idempotency });
    expect(refusal(await c.tasks.admit(refused))).toBe('full');
    expect(await c.tasks.find('all', refused.id)).toBe(undefined);
    expect(await c.tasks.read('all', refused.id, 0, 10)).toEqual([]);
    expect((await c.list()).total).toBe(3);
    expect(await c.storage.upkeep.counts()).toEqual(before);
    expect((await c.storage.lanes.list({ owner: c.owner, limit: 9 }))[0]?.waiting).toBe(2);

    // With room again the same message, under the same key, is welcome.
    await c.complete(running);
    await c.claimOne(me);
    const { again, task } = accepted(await c.tasks.admit(refused));
    expect(again).toBe(false);
    expect(task.queuePosition).toBe(2);
  });

  it('the limit of one lane says nothing about another', async (c) => {
    const limits = { laneWaiting: 1, ownerWaiting: 0 };
    await c.admit({ limits });
    expect(refusal(await c.tasks.admit(c.admission({ limits })))).toBe('full');
    expect(refusal(await c.tasks.admit(c.admission({ limits, session: c.name('other') })))).toBe('accepted');
  });

  it('`owner-full`: refuses a turn when the owner has as many waiting turns as it may, and leaves no trace', async (c) => {
    const limits = { laneWaiting: 9999, ownerWaiting: 3 };
    for (const lane of ['a', 'b', 'c']) await c.admit({ limits, session: c.name(lane) });
    const refused = c.admission({ limits, session: c.name('d') });
    expect(refusal(await c.tasks.admit(refused))).toBe('owner-full');
    expect(await c.tasks.find('all', refused.id)).toBe(undefined);
    expect(await c.storage.lanes.list({ owner: c.owner, limit: 9 })).toHaveLength(3);
    expect((await c.list()).total).toBe(3);

    const stranger = c.admission({ limits, owner: c.name('stranger'), session: c.name('e') });
    expect(refusal(await c.tasks.admit(stranger))).toBe('accepted');
    // A turn that runs does not wait any more.
    await c.claimOne(await c.instance());
    expect(refusal(await c.tasks.admit(refused))).toBe('accepted');
  });

  it('`loop`: refuses a turn that would wait for a run that waits for it, and leaves no trace', async (c) => {
    const run = await c.start(await c.instance(), { session: c.name('main') });
    const name = runIdOf(run.token.taskId, run.turn, run.attempt);
    const refused = c.admission({ call: { ancestors: ['somebody.1', name] } });
    expect(refusal(await c.tasks.admit(refused))).toBe('loop');
    expect(await c.tasks.find('all', refused.id)).toBe(undefined);
    expect((await c.storage.lanes.list({ owner: c.owner, limit: 9 }))[0]?.waiting).toBe(0);

    const elsewhere = c.admission({ session: c.name('other'), call: { ancestors: [name] } });
    expect(refusal(await c.tasks.admit(elsewhere))).toBe('accepted');
    for (const other of [runIdOf(run.token.taskId, 1, 2), runIdOf(run.token.taskId, 2, 1)]) {
      expect(refusal(await c.tasks.admit(c.admission({ call: { ancestors: [other] } })))).toBe('accepted');
    }
  });

  it('`conflict`: refuses an id that is taken, whoever has it, and writes nothing', async (c) => {
    const { task } = await c.admit();
    for (const owner of [c.owner, c.name('stranger')]) {
      const second = c.admission({ id: task.id, isIdGiven: true, owner, session: c.name('other') });
      expect(refusal(await c.tasks.admit(second))).toBe('conflict');
    }
    expect(await c.task(task.id)).toEqual(task);
    expect(await c.storage.lanes.list({ agent: c.agent, limit: 9 })).toHaveLength(1);
  });

  it('of two tasks that ask for one id at the same moment, one gets it', async (c) => {
    const id = c.name('task');
    const results = await Promise.all(
      ['a', 'b', 'c', 'd'].map((lane) => c.tasks.admit(c.admission({ id, isIdGiven: true, session: c.name(lane) }))),
    );
    expect(results.map(refusal).toSorted()).toEqual(['accepted', 'conflict', 'conflict', 'conflict']);
    expect(await c.storage.lanes.list({ agent: c.agent, limit: 9 })).toHaveLength(1);
  });
};
