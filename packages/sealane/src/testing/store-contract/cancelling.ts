import type { Corner } from './contract-corner.ts';
import {
  accepted,
  chunk,
  foldedUpTo,
  kindsOf,
  progress,
  question,
  refusal,
  snapshotOf,
  turnEnded,
} from './contract-events.ts';
import type { Suite } from './suite.ts';

const cancel = (c: Corner, id: string, by = 'somebody') => c.tasks.requestCancel(c.scope, id, by, c.later());

/** A cancel that is accepted, with the task as it is afterwards. */
const canceled = async (c: Corner, id: string, by?: string) => {
  const result = accepted(await cancel(c, id, by));
  const task = await c.task(id);
  if (result.outcome === 'ended' && result.task.seq !== task.seq) throw new Error('The answer is not the last word.');
  return { events: result.events, outcome: result.outcome, task: result.outcome === 'ended' ? result.task : task };
};

export const describeCancelling = ({ it, expect }: Suite): void => {
  it('queued: canceled now, and the lane goes on without it', async (c) => {
    const me = await c.instance();
    const running = await c.start(me, { session: c.name('main') });
    const { task: first } = await c.admit();
    const { task: second } = await c.admit();
    const { task, events, outcome } = await canceled(c, first.id);
    expect(outcome).toBe('ended');
    expect(events.map(({ event }) => event)).toEqual([{ kind: 'turn-ended', state: 'canceled', reason: 'canceled' }]);
    expect(task).toMatchObject({ id: first.id, state: 'canceled', seq: 2 });
    expect(await c.task(first.id)).toEqual(task);
    expect((await c.task(second.id)).queuePosition).toBe(1);
    await c.complete(running);
    expect((await c.claimOne(me)).token.taskId).toBe(second.id);
  });

  it('the only turn of a lane: canceled now, and the lane is gone with it', async (c) => {
    const { task } = await c.admit();
    accepted(await cancel(c, task.id));
    expect(await c.storage.lanes.list({ agent: c.agent, limit: 9 })).toEqual([]);
    expect(await c.claim(await c.instance())).toEqual([]);
  });

  it('interrupted: canceled now', async (c) => {
    const id = await c.interrupted(await c.instance());
    const { task, outcome } = await canceled(c, id);
    expect(outcome).toBe('ended');
    expect(task.state).toBe('canceled');
    expect(refusal(await c.follow(id))).toBe('terminal');
  });

  it('running: an intent in the log that its runner reads; the task goes on until the runner ends it', async (c) => {
    const me = await c.instance();
    const run = await c.start(me);
    const { taskId } = run.token;
    expect(await c.tasks.interventions(me)).toEqual([]);
    const { task, events, outcome } = await canceled(c, taskId, 'alice');
    expect(outcome).toBe('asked');
    expect(events.map(({ event }) => event)).toEqual([{ kind: 'cancel-requested', state: 'working', by: 'alice' }]);
    expect(task).toMatchObject({ state: 'working', seq: 3 });
    expect(await c.tasks.interventions(me)).toEqual([taskId]);
    await c.append(run, chunk('last words'));
    accepted(await c.tasks.finish(run.token, [turnEnded('canceled')], c.later(), true));
    expect((await c.task(taskId)).state).toBe('canceled');
    expect(await c.tasks.interventions(me)).toEqual([]);
  });

  it('again: the same answer, and nothing is written', async (c) => {
    const run = await c.start(await c.instance());
    const { taskId } = run.token;
    expect(accepted(await cancel(c, taskId))).toMatchObject({ outcome: 'asked', events: [{ seq: 3 }] });
    expect(accepted(await cancel(c, taskId))).toEqual({ outcome: 'asked', events: [] });
    expect(kindsOf(await c.log(taskId))).toEqual(['task-admitted', 'run-started', 'cancel-requested']);
  });

  it('a live run that asks something is told as well: its question keeps the lane', async (c) => {
    const me = await c.instance();
    const run = await c.start(me);
    await c.append(run, question('which one?'));
    const { task, outcome } = await canceled(c, run.token.taskId);
    expect(outcome).toBe('asked');
    expect(task.state).toBe('input-required');
    expect(await c.tasks.interventions(me)).toEqual([run.token.taskId]);
  });

  it('interrupted, and its run may still live: canceled now, and the lane stays held until the run is dead', async (c) => {
    const me = await c.instance();
    const run = await c.start(me, { session: c.name('main') });
    const { taskId } = run.token;
    const { task: next } = await c.admit();
    accepted(await c.tasks.finish(run.token, [turnEnded('input-required', 'which one?')], c.later(), false));
    const { task, outcome } = await canceled(c, taskId);
    expect(outcome).toBe('ended');
    expect(task.state).toBe('canceled');
    expect(await c.claim(me)).toEqual([]);
    accepted(await c.tasks.release(run.token, c.later()));
    expect((await c.claimOne(me)).token.taskId).toBe(next.id);
  });

  it('an intent leaves everything else about the task as it was', async (c) => {
    const run = await c.start(await c.instance());
    const { taskId } = run.token;
    await c.append(run, progress('writing'));
    const before = await c.task(taskId);
    const { task } = await canceled(c, taskId);
    expect(snapshotOf(task)).toEqual({ ...snapshotOf(before), statusAt: task.statusAt });
    expect(snapshotOf(task)).toEqual(foldedUpTo(await c.log(taskId), task.seq));
    expect(await c.task(taskId)).toEqual(task);
  });

  it('ended: `terminal`. foreign or unknown: `absent`', async (c) => {
    const run = await c.start(await c.instance());
    const { taskId } = run.token;
    const foreign = { owner: c.name('stranger'), tenant: c.tenant };
    expect(refusal(await c.tasks.requestCancel(foreign, taskId, 'stranger', c.later()))).toBe('absent');
    expect(refusal(await cancel(c, c.name('unknown')))).toBe('absent');
    expect(await c.log(taskId)).toHaveLength(2);
    await c.complete(run);
    expect(refusal(await cancel(c, taskId))).toBe('terminal');
    expect(refusal(await c.tasks.requestCancel('all', taskId, 'operator', c.later()))).toBe('terminal');
  });

  it('an intent outlives its runner: whoever reaps the run knows of it', async (c) => {
    const [old, heir] = [await c.instance(), await c.instance()];
    const run = await c.start(old);
    accepted(await cancel(c, run.token.taskId));
    await c.expire(old);
    const [reaped] = await c.reap(heir);
    expect(reaped?.run.cancelRequested).toBe(true);
    expect(await c.tasks.interventions(heir)).toEqual([run.token.taskId]);
    if (!reaped) throw new Error('The run was not reaped.');
    accepted(await c.tasks.finish(reaped.run.token, [turnEnded('canceled')], c.later(), true));
  });

  it('a turn that waits for its retry: canceled now, and the next turn need not wait for that retry', async (c) => {
    const me = await c.instance();
    const run = await c.start(me, { session: c.name('main') });
    await c.append(run, progress('trying'));
    const { task: next } = await c.admit();
    const at = c.later();
    accepted(await c.tasks.release(run.token, at, at + 3_600_000));
    const { outcome, task } = await canceled(c, run.token.taskId);
    expect(outcome).toBe('ended');
    expect(task.state).toBe('canceled');
    const claimed = await c.claim(me);
    expect(claimed.map(({ run: started }) => started.token.taskId)).toEqual([next.id]);
  });
};
