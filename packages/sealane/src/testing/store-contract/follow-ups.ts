import { runIdOf } from '#domain';

import { accepted, agentMessage, kindsOf, question, refusal, turnEnded } from './contract-events.ts';
import type { Suite } from './suite.ts';

export const describeFollowUps = ({ it, expect }: Suite): void => {
  it('an answer to an interrupted task is its next turn, and starts with a slot and an idle lane', async (c) => {
    const me = await c.instance();
    for (const state of ['input-required', 'auth-required'] as const) {
      const asked = await c.start(me, { metadata: { a: 1 } });
      const id = asked.token.taskId;
      accepted(await c.tasks.finish(asked.token, [turnEnded(state, 'which one?')], c.later(), true));
      const message = c.message('that one');
      const at = c.later();
      const { task, events, run, again } = accepted(
        await c.follow(id, { message, at, slot: { instance: me }, call: { permission: 'full' } }),
      );
      expect(again).toBe(false);
      expect(kindsOf(events)).toEqual(['message-received', 'run-started']);
      expect(events[0]?.event).toEqual({ kind: 'message-received', state: 'submitted', message });
      expect(task).toMatchObject({ state: 'working', statusMessage: null, seq: 5 });
      expect(JSON.parse(task.history)).toEqual([asked.message, agentMessage('which one?'), message]);
      expect(run).toMatchObject({
        token: { taskId: id },
        session: asked.session,
        turn: 2,
        attempt: 1,
        message,
        metadata: { a: 1 },
        call: { permission: 'full' },
        startedAt: at,
        seq: 5,
      });
      expect(await c.task(id)).toEqual(task);
    }
  });

  it('a task that has become too long takes no more messages, and a known one again', async (c) => {
    const me = await c.instance();
    const message = c.message('x'.repeat(500));
    for (const state of ['input-required', 'auth-required'] as const) {
      const asked = await c.start(me, { message });
      const id = asked.token.taskId;
      accepted(await c.tasks.finish(asked.token, [turnEnded(state, 'which one?')], c.later(), true));
      const before = await c.task(id);
      expect(refusal(await c.follow(id, { taskBytes: 500 }))).toBe('task-full');
      expect(await c.task(id)).toEqual(before);
      expect(accepted(await c.follow(id, { message: asked.message, taskBytes: 500 })).again).toBe(true);
      expect(accepted(await c.follow(id, { taskBytes: 5000 })).again).toBe(false);
    }
  });

  it('an answer without a slot waits as `submitted` until it is claimed', async (c) => {
    const me = await c.instance();
    const id = await c.interrupted(me);
    const message = c.message('that one');
    const at = c.later();
    const { task, events, run } = accepted(await c.follow(id, { message, at }));
    expect(run).toBe(undefined);
    expect(task).toMatchObject({ state: 'submitted', queuePosition: 0, queuedAt: at });
    expect(events.map(({ event }) => event)).toEqual([
      { kind: 'message-received', state: 'submitted', message, queuedAt: at, queuePosition: 0 },
    ]);
    expect(await c.claimOne(me)).toMatchObject({ token: { taskId: id }, turn: 2, attempt: 1, message });
  });

  it('an answer waits behind a busy lane as `submitted`, though there is a slot', async (c) => {
    const me = await c.instance();
    const id = await c.interrupted(me, { session: c.name('main') });
    const busy = await c.start(me, { session: c.name('main') });
    const { task: other } = await c.admit();
    const { task, run } = accepted(await c.follow(id, { slot: { instance: me } }));
    expect(run).toBe(undefined);
    expect(task).toMatchObject({ state: 'submitted', queuePosition: 2 });
    await c.complete(busy);
    const next = await c.claimOne(me);
    expect(next.token.taskId).toBe(other.id);
    await c.complete(next);
    expect((await c.claimOne(me)).token.taskId).toBe(id);
  });

  it('an answer to the question of a live run reaches that run: no turn waits, nothing is started', async (c) => {
    const me = await c.instance();
    const live = await c.start(me, { session: c.name('main') });
    await c.append(live, question('which one?'));
    const message = c.message('that one');
    const { task, events, run } = accepted(await c.follow(live.token.taskId, { message, slot: { instance: me } }));
    expect(run).toBe(undefined);
    expect(events.map(({ event }) => event)).toEqual([{ kind: 'message-received', state: 'working', message }]);
    expect(task).toMatchObject({ state: 'working', statusMessage: null });
    expect(await c.storage.lanes.list({ agent: c.agent, limit: 9 })).toMatchObject([
      { waiting: 0, running: live.token.taskId },
    ]);
    // The run is the same one, and still writes.
    await c.complete(live);
  });

  it('a message to a live run that did not ask is taken when the connector can be steered, and else `busy`', async (c) => {
    const live = await c.start(await c.instance());
    const { taskId } = live.token;
    expect(refusal(await c.follow(taskId, { steerable: false }))).toBe('busy');
    expect(kindsOf(await c.log(taskId))).toEqual(['task-admitted', 'run-started']);
    const { events, task } = accepted(await c.follow(taskId, { steerable: true }));
    expect(kindsOf(events)).toEqual(['message-received']);
    expect(task).toMatchObject({ state: 'working', seq: 3 });
  });

  it('`busy`: a turn of this task is already waiting', async (c) => {
    const { task } = await c.admit();
    expect(refusal(await c.follow(task.id, { steerable: true }))).toBe('busy');
    const me = await c.instance();
    const id = await c.interrupted(me);
    accepted(await c.follow(id));
    expect(refusal(await c.follow(id, { steerable: true }))).toBe('busy');
    expect(await c.log(id)).toHaveLength(4);
  });

  it('`busy`: the turn has ended and its run may still live', async (c) => {
    const run = await c.start(await c.instance());
    accepted(await c.tasks.finish(run.token, [turnEnded('input-required')], c.later(), false));
    expect(refusal(await c.follow(run.token.taskId, { steerable: true }))).toBe('busy');
    accepted(await c.tasks.release(run.token, c.later()));
    expect(refusal(await c.follow(run.token.taskId))).toBe('accepted');
  });

  it('`terminal`: the task has ended; nothing is written', async (c) => {
    const me = await c.instance();
    const released = await c.start(me);
    await c.complete(released);
    const held = await c.start(me);
    await c.complete(held, false);
    for (const { token } of [released, held]) {
      const before = await c.task(token.taskId);
      expect(refusal(await c.follow(token.taskId, { steerable: true, slot: { instance: me } }))).toBe('terminal');
      expect(await c.task(token.taskId)).toEqual(before);
    }
  });

  it('a message is taken once: its messageId is known within the task, whatever has become of it', async (c) => {
    const me = await c.instance();
    const first = c.message();
    const id = await c.interrupted(me, { message: first });
    const answer = c.message('that one');
    const { run } = accepted(await c.follow(id, { message: answer, slot: { instance: me } }));
    if (!run) throw new Error('The answer did not start.');
    for (const message of [first, answer]) {
      const { task, events, again, run: second } = accepted(await c.follow(id, { message, slot: { instance: me } }));
      expect(again).toBe(true);
      expect(events).toEqual([]);
      expect(second).toBe(undefined);
      expect(task).toEqual(await c.task(id));
    }
    await c.complete(run);
    expect(accepted(await c.follow(id, { message: answer })).again).toBe(true);
    expect(await c.log(id)).toHaveLength(6);
  });

  it('a messageId that the task knows, with other words, is another message', async (c) => {
    const me = await c.instance();
    const first = c.message('which?');
    const id = await c.interrupted(me, { message: first });
    const other = { ...c.message('that one'), messageId: first.messageId };
    expect(accepted(await c.follow(id, { message: other, slot: { instance: me } })).again).toBe(false);
    expect(accepted(await c.follow(id, { message: other })).again).toBe(true);
  });

  it('a messageId that another task knows is new to this one', async (c) => {
    const me = await c.instance();
    const message = c.message();
    await c.admit({ message, session: c.name('other') });
    const id = await c.interrupted(me);
    expect(accepted(await c.follow(id, { message })).again).toBe(false);
  });

  it('`absent`: a foreign task and an unknown one look the same', async (c) => {
    const id = await c.interrupted(await c.instance());
    const foreign = { owner: c.name('stranger'), tenant: c.tenant };
    expect(await c.follow(id, { scope: foreign })).toEqual({ ok: false, why: 'absent' });
    expect(await c.follow(c.name('unknown'))).toEqual({ ok: false, why: 'absent' });
    expect(await c.log(id)).toHaveLength(3);
  });

  it('`full`, `owner-full`, `loop`: a refused answer leaves the task as it was', async (c) => {
    const me = await c.instance();
    const id = await c.interrupted(me, { session: c.name('main') });
    const busy = await c.start(me, { session: c.name('main') });
    await c.admit();
    const before = await c.task(id);
    const lanes = await c.storage.lanes.list({ agent: c.agent, limit: 9 });
    expect(refusal(await c.follow(id, { limits: { laneWaiting: 1, ownerWaiting: 0 } }))).toBe('full');
    expect(refusal(await c.follow(id, { limits: { laneWaiting: 9, ownerWaiting: 1 } }))).toBe('owner-full');
    const ancestors = [runIdOf(busy.token.taskId, busy.turn, busy.attempt)];
    expect(refusal(await c.follow(id, { call: { ancestors } }))).toBe('loop');
    expect(await c.task(id)).toEqual(before);
    expect(await c.storage.lanes.list({ agent: c.agent, limit: 9 })).toEqual(lanes);
    expect(refusal(await c.follow(id))).toBe('accepted');
  });

  it('of answers that come at the same moment, one is the next turn', async (c) => {
    const me = await c.instance();
    const id = await c.interrupted(me);
    const results = await Promise.all(Array.from({ length: 5 }, () => c.follow(id, { slot: { instance: me } })));
    expect(results.map(refusal).toSorted()).toEqual(['accepted', 'busy', 'busy', 'busy', 'busy']);
    expect(kindsOf(await c.log(id)).slice(3)).toEqual(['message-received', 'run-started']);
  });
};
