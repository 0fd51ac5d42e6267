import { accepted, refusal, turnEnded, webhook } from './contract-events.ts';
import type { Suite } from './suite.ts';

export const describeRemoving = ({ it, expect }: Suite): void => {
  it('deletes a task that has ended, with its events and its webhooks', async (c) => {
    const run = await c.start(await c.instance());
    const { taskId } = run.token;
    accepted(await c.storage.pushConfigs.save(c.scope, taskId, webhook('hook')));
    await c.complete(run);
    expect(refusal(await c.tasks.remove(c.scope, taskId))).toBe('accepted');
    expect(await c.tasks.find('all', taskId)).toBe(undefined);
    expect(await c.log(taskId)).toEqual([]);
    expect(refusal(await c.storage.pushConfigs.list('all', taskId))).toBe('absent');
    expect((await c.list()).total).toBe(0);
    expect(refusal(await c.tasks.remove(c.scope, taskId))).toBe('absent');
    expect(refusal(await c.tasks.append(run.token, [turnEnded('failed')], c.later()))).toBe('lost');
  });

  it('the id of a removed task is free, and nothing of the old task shines through', async (c) => {
    const me = await c.instance();
    const run = await c.start(me, { metadata: { old: true } });
    const { taskId } = run.token;
    accepted(await c.storage.pushConfigs.save(c.scope, taskId, webhook('hook')));
    await c.complete(run);
    accepted(await c.tasks.remove(c.scope, taskId));
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
    accepted(await c.tasks.remove(c.scope, ids[0] ?? ''));
    expect((await c.task(ids[1] ?? '')).queuePosition).toBe(0);
    const run = await c.claimOne(me);
    expect(run.token.taskId).toBe(ids[1]);
    accepted(await c.tasks.remove(c.scope, ids[2] ?? ''));
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
    accepted(await c.tasks.remove(c.scope, run.token.taskId));
    const claimed = await c.claim(me);
    expect(claimed.map(({ run: started }) => started.token.taskId)).toEqual([next.id]);
  });

  it('`busy`: a run of it is held, though its task may have ended', async (c) => {
    const me = await c.instance();
    const run = await c.start(me);
    const { taskId } = run.token;
    expect(refusal(await c.tasks.remove(c.scope, taskId))).toBe('busy');
    accepted(await c.tasks.force(taskId, ['working'], turnEnded('failed'), c.later()));
    expect(refusal(await c.tasks.remove(c.scope, taskId))).toBe('busy');
    expect(await c.log(taskId)).toHaveLength(3);
    accepted(await c.tasks.release(run.token, c.later()));
    expect(refusal(await c.tasks.remove(c.scope, taskId))).toBe('accepted');
  });

  it('a task that waits for its caller is deleted', async (c) => {
    const id = await c.interrupted(await c.instance());
    expect(refusal(await c.tasks.remove(c.scope, id))).toBe('accepted');
    expect(refusal(await c.follow(id))).toBe('absent');
  });
};
