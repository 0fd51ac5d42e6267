import type { Event } from '#domain';
import { isTerminal } from '#domain';

import { accepted, chunk, kindsOf, progress, refusal, timedOut, turnEnded } from './contract-events.ts';
import type { Suite } from './suite.ts';

const terminalEvents = (log: readonly Event[]): readonly Event[] =>
  log.filter(({ event }) => event.kind !== 'artifact-added' && isTerminal(event.state));

export const describeEnding = ({ it, expect }: Suite): void => {
  it('the first terminal event of a task is its last: `force` before `finish`', async (c) => {
    const me = await c.instance();
    const run = await c.start(me, { session: c.name('main') });
    const { task: next } = await c.admit();
    const { taskId } = run.token;
    const { task, events } = accepted(await c.tasks.force(taskId, ['working'], timedOut, c.later()));
    expect(events.map(({ event }) => event)).toEqual([timedOut]);
    expect(task).toMatchObject({ state: 'failed', seq: 3 });
    expect(JSON.parse(task.metadata)).toEqual({ reason: 'timeout', forced: true });
    expect(refusal(await c.tasks.append(run.token, [progress('late')], c.later()))).toBe('terminal');
    expect(refusal(await c.tasks.finish(run.token, [turnEnded('completed')], c.later(), true))).toBe('terminal');
    expect(await c.task(taskId)).toEqual(task);
    expect(await c.log(taskId)).toHaveLength(3);

    // A held run stays held: the lane goes on only when it is confirmed dead.
    expect(await c.claim(me)).toEqual([]);
    accepted(await c.tasks.release(run.token, c.later()));
    expect((await c.claimOne(me)).token.taskId).toBe(next.id);
  });

  it('the first terminal event of a task is its last: `finish` before `force` and before a cancel', async (c) => {
    const me = await c.instance();
    for (const release of [true, false]) {
      const run = await c.start(me);
      const { taskId } = run.token;
      await c.complete(run, release);
      const [before, log] = [await c.task(taskId), await c.log(taskId)];
      expect(refusal(await c.tasks.force(taskId, ['working', 'completed'], timedOut, c.later()))).toBe('terminal');
      expect(refusal(await c.tasks.requestCancel(c.scope, taskId, 'somebody', c.later()))).toBe('terminal');
      expect(refusal(await c.tasks.append(run.token, [chunk('late')], c.later()))).not.toBe('accepted');
      expect(await c.task(taskId)).toEqual(before);
      expect(await c.log(taskId)).toEqual(log);
    }
  });

  it('a task whose cancel was asked for while it was open ends canceled, whatever its run reports afterwards', async (c) => {
    const run = await c.start(await c.instance());
    const { taskId } = run.token;
    accepted(await c.tasks.requestCancel(c.scope, taskId, 'somebody', c.later()));
    await c.append(run, progress('nearly there'));
    const [before, log] = [await c.task(taskId), await c.log(taskId)];
    for (const state of ['completed', 'failed', 'input-required'] as const) {
      const end = [chunk('x'), turnEnded(state)];
      for (const release of [true, false]) {
        expect(refusal(await c.tasks.finish(run.token, end, c.later(), release))).toBe('canceled');
      }
    }
    expect(refusal(await c.tasks.finish(run.token, [timedOut], c.later(), false))).toBe('canceled');
    expect(refusal(await c.tasks.release(run.token, c.later(), c.later()))).toBe('canceled');
    expect(await c.task(taskId)).toEqual(before);
    expect(await c.log(taskId)).toEqual(log);
    accepted(await c.tasks.finish(run.token, [turnEnded('canceled')], c.later(), true));
    expect((await c.task(taskId)).state).toBe('canceled');
    expect(kindsOf(terminalEvents(await c.log(taskId)))).toEqual(['turn-ended']);
  });

  it('of `finish`, `force` and a cancel at the same moment, one ends the task', async (c) => {
    const me = await c.instance();
    for (let n = 0; n < 10; n += 1) {
      const run = await c.start(me);
      const { taskId } = run.token;
      const results = await Promise.all([
        c.tasks.finish(run.token, [chunk('x'), turnEnded('completed')], c.later(), false),
        c.tasks.force(taskId, ['working'], timedOut, c.later()),
        c.tasks.requestCancel(c.scope, taskId, 'somebody', c.later()),
        c.tasks.force(taskId, ['working'], turnEnded('canceled'), c.later()),
      ]);
      expect([results[0], results[1], results[3]].filter(({ ok }) => ok)).toHaveLength(1);
      const log = await c.log(taskId);
      expect(terminalEvents(log)).toHaveLength(1);
      expect(terminalEvents(log.slice(-1))).toHaveLength(1);
      accepted(await c.tasks.release(run.token, c.later()));
    }
  });

  it('`force` ends a task only in one of the states it was given: otherwise `conflict`', async (c) => {
    const run = await c.start(await c.instance());
    const { taskId } = run.token;
    expect(refusal(await c.tasks.force(taskId, ['submitted', 'input-required'], timedOut, c.later()))).toBe('conflict');
    expect(await c.log(taskId)).toHaveLength(2);
    expect(refusal(await c.tasks.force(taskId, ['submitted', 'working'], timedOut, c.later()))).toBe('accepted');
  });

  it('`force` takes a waiting turn out of its lane, which goes on', async (c) => {
    const me = await c.instance();
    const { task: first } = await c.admit();
    const { task: second } = await c.admit();
    const { task } = accepted(await c.tasks.force(first.id, ['submitted'], timedOut, c.later()));
    expect(task.state).toBe('failed');
    expect(task.queuePosition).toBe(undefined);
    expect((await c.task(second.id)).queuePosition).toBe(0);
    expect((await c.claimOne(me)).token.taskId).toBe(second.id);
  });

  it('`force` ends a task that waits for its caller, and knows no other', async (c) => {
    const id = await c.interrupted(await c.instance());
    expect(refusal(await c.tasks.force(id, ['input-required'], timedOut, c.later()))).toBe('accepted');
    expect(refusal(await c.tasks.force(c.name('unknown'), ['working'], timedOut, c.later()))).toBe('absent');
  });
};
