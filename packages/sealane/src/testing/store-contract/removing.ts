import { accepted, chunk, kindsOf, refusal, turnEnded, webhook } from './contract-events.ts';
import { all, claimProbes, LEASE_MS, probe, rangesOf, told } from './owed.ts';
import type { Suite } from './suite.ts';

export const describeRemoving = ({ it, expect }: Suite): void => {
  it('deletes a task that has ended, with its events and its webhooks', async (c) => {
    const run = await c.start(await c.instance());
    const { taskId } = run.token;
    accepted(await c.storage.pushConfigs.save(c.scope, taskId, webhook('hook', { isSilent: true })));
    await c.complete(run);
    expect(accepted(await c.tasks.remove(c.scope, taskId, c.later()))).toEqual({});
    expect(await c.tasks.find('all', taskId)).toBe(undefined);
    expect(await c.log(taskId)).toEqual([]);
    expect(refusal(await c.storage.pushConfigs.list('all', taskId))).toBe('absent');
    expect((await c.list()).total).toBe(0);
    expect(refusal(await c.tasks.remove(c.scope, taskId, c.later()))).toBe('absent');
    expect(refusal(await c.tasks.append(run.token, [chunk('x')], c.later()))).toBe('lost');
  });

  it('an open task is canceled first, by an event like any other, that its followers are owed', async (c) => {
    const { outbox, upkeep } = c.storage;
    const me = await c.instance();
    const { task: waiting } = await c.admit({ followers: [probe(c, 'a', 'end')] });
    const asking = await c.interrupted(me, { followers: [probe(c, 'b', 'end')] });
    for (const id of [waiting.id, asking]) {
      const { ended } = accepted(await c.tasks.remove(c.scope, id, c.later()));
      expect(ended?.task).toMatchObject({ id, state: 'canceled' });
      expect(ended?.events.map(({ event }) => event)).toEqual([{ ...turnEnded('canceled'), reason: 'canceled' }]);
      expect(await c.tasks.find('all', id)).toBe(undefined);
      expect(await c.tasks.peek(c.scope, id)).toBe(undefined);
      expect(refusal(await c.follow(id))).toBe('absent');
      // A reader that was there before learns how it ended.
      expect(kindsOf(await c.log(id)).at(-1)).toBe('turn-ended');
    }
    expect((await c.list()).total).toBe(0);
    const claimed = await claimProbes(c, me);
    expect(claimed.flatMap(rangesOf)).toEqual(['2-2', '4-4']);
    const [range] = claimed[0]?.ranges ?? [];
    expect(await outbox.read(range?.follower ?? 0, 1, 9)).toMatchObject({ taskId: waiting.id, events: [{ seq: 2 }] });
    const gone = c.later(3_600_000);
    await upkeep.dropRemoved(gone, 100);
    expect(await c.log(waiting.id)).toHaveLength(2);
    for (const owed of claimed) accepted(await outbox.advance(owed.claim, all(owed), LEASE_MS));
    await upkeep.dropRemoved(gone, 100);
    expect(await c.log(waiting.id)).toEqual([]);
  });

  it('of several removals at the same moment one removes the task, and its followers hear of it under its name', async (c) => {
    const me = await c.instance();
    const { task } = await c.admit({ followers: [probe(c, 'a', 'end')] });
    const stores = [c.tasks, (c.neighbour ?? c.storage).tasks, c.tasks, (c.neighbour ?? c.storage).tasks];
    const answers = await Promise.all(stores.map((tasks) => tasks.remove(c.scope, task.id, c.later())));
    expect(answers.map(refusal).toSorted()).toEqual(['absent', 'absent', 'absent', 'accepted']);
    const [owed] = await claimProbes(c, me);
    const { follower } = owed?.ranges[0] ?? { follower: 0 };
    const { outbox } = c.storage;
    expect(await outbox.read(follower, 1, 9)).toMatchObject({ taskId: task.id, events: [{ seq: 2 }] });
    // Also when another task has its name by now.
    await c.admit({ id: task.id, isIdGiven: true, session: c.name('next') });
    expect(await outbox.task(follower)).toMatchObject({ id: task.id, state: 'canceled', seq: 2 });
    expect(kindsOf(await outbox.log(follower, 0, 9))).toEqual(['task-admitted', 'turn-ended']);
  });

  it('the log of a task that was removed while it was open is there for a moment, also when another took its id', async (c) => {
    const { task } = await c.admit();
    accepted(await c.tasks.remove(c.scope, task.id, c.later()));
    const stranger = { owner: c.name('stranger'), tenant: c.tenant };
    await c.admit({ id: task.id, owner: stranger.owner, session: c.name('strange') });
    accepted(await c.tasks.remove(stranger, task.id, c.later()));
    expect(kindsOf(await c.tasks.read(c.scope, task.id, 0, 9))).toEqual(['task-admitted', 'turn-ended']);
    await c.storage.upkeep.dropRemoved(c.later(3_600_000), 100);
    expect(await c.tasks.read(c.scope, task.id, 0, 9)).toEqual([]);
  });

  it('a task whose followers are owed something is hidden, and its id is free at once', async (c) => {
    const me = await c.instance();
    const { task } = await c.admit({ followers: [probe(c, 'a')] });
    accepted(await c.tasks.remove(c.scope, task.id, c.later()));
    const { task: next } = await c.admit({ id: task.id, isIdGiven: true, followers: [probe(c, 'b')] });
    expect(next.seq).toBe(1);
    expect(kindsOf(await c.log(task.id))).toEqual(['task-admitted']);
    accepted(await c.tasks.remove(c.scope, task.id, c.later()));
    expect(await c.tasks.find('all', task.id)).toBe(undefined);
    const run = await c.start(me, { followers: [probe(c, 'c')] });
    await c.complete(run);
    accepted(await c.tasks.remove(c.scope, run.token.taskId, c.later()));
    // Its row is there under a name that no caller can have heard of.
    expect(await c.tasks.find('all', `\n${run.token.task}`)).toBe(undefined);
    expect(await told(c, me)).toEqual(['a 1-2', 'b 1-2', 'c 1-3']);
    await c.storage.upkeep.dropRemoved(c.later(3_600_000), 100);
    expect(await c.log(task.id)).toEqual([]);
  });

  it('the id of a removed task is free, and nothing of the old task shines through', async (c) => {
    const me = await c.instance();
    const run = await c.start(me, { metadata: { old: true } });
    const { taskId } = run.token;
    accepted(await c.storage.pushConfigs.save(c.scope, taskId, webhook('hook')));
    await c.complete(run);
    accepted(await c.tasks.remove(c.scope, taskId, c.later()));
    const { task } = await c.admit({ id: taskId });
    expect(task.seq).toBe(1);
    expect(await c.log(taskId)).toHaveLength(1);
    expect(JSON.parse(task.metadata)).toEqual({});
    expect(accepted(await c.storage.pushConfigs.list('all', taskId))).toEqual([]);
  });

  it('a waiting turn leaves its lane with its task, and the lane goes on', async (c) => {
    const me = await c.instance();
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) ids.push((await c.admit()).task.id);
    accepted(await c.tasks.remove(c.scope, ids[0] ?? '', c.later()));
    expect((await c.task(ids[1] ?? '')).queuePosition).toBe(0);
    const run = await c.claimOne(me);
    expect(run.token.taskId).toBe(ids[1]);
    accepted(await c.tasks.remove(c.scope, ids[2] ?? '', c.later()));
    expect(await c.storage.lanes.list({ agent: c.agent, limit: 9 })).toMatchObject([{ waiting: 0, running: ids[1] }]);
    await c.complete(run);
    expect(await c.storage.lanes.list({ agent: c.agent, limit: 9 })).toEqual([]);
  });

  it('a turn that waits for its retry leaves its lane, and the next turn need not wait for that retry', async (c) => {
    const me = await c.instance();
    const run = await c.start(me, { session: c.name('main') });
    const { task: next } = await c.admit();
    const at = c.later();
    accepted(await c.tasks.release(run.token, at, at + 3_600_000));
    accepted(await c.tasks.remove(c.scope, run.token.taskId, c.later()));
    const claimed = await c.claim(me);
    expect(claimed.map(({ run: started }) => started.token.taskId)).toEqual([next.id]);
  });

  it('`busy`: a run of it is held, though its task may have ended', async (c) => {
    const me = await c.instance();
    const run = await c.start(me);
    const { taskId } = run.token;
    expect(refusal(await c.tasks.remove(c.scope, taskId, c.later()))).toBe('busy');
    accepted(await c.tasks.force(taskId, ['working'], turnEnded('failed'), c.later()));
    expect(refusal(await c.tasks.remove(c.scope, taskId, c.later()))).toBe('busy');
    expect(await c.log(taskId)).toHaveLength(3);
    accepted(await c.tasks.release(run.token, c.later()));
    expect(refusal(await c.tasks.remove(c.scope, taskId, c.later()))).toBe('accepted');
  });

  it('a task that waits for its caller is deleted', async (c) => {
    const id = await c.interrupted(await c.instance());
    expect(refusal(await c.tasks.remove(c.scope, id, c.later()))).toBe('accepted');
    expect(refusal(await c.follow(id))).toBe('absent');
  });
};
