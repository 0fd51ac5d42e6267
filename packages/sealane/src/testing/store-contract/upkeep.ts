import type { Corner } from './contract-corner.ts';
import { accepted, idsOf, refusal, turnEnded } from './contract-events.ts';
import type { Suite } from './suite.ts';

/** Long before the clocks of all other tests, so that sweeping here takes nothing from them. */
const longAgo = (day: number): number => Date.UTC(2001, 0, day);

const endedAt = async (c: Corner, instance: string, at: number, over: { owner?: string; contextId?: string } = {}) => {
  const run = await c.start(instance, { at, ...over });
  accepted(await c.tasks.finish(run.token, [turnEnded('completed')], at, true));
  return run.token.taskId;
};

export const describeUpkeep = ({ it, expect }: Suite): void => {
  it('overdue: tasks that have waited in a lane, or for their caller, since before these times', async (c) => {
    const me = await c.instance();
    const { task: queued } = await c.admit({ at: longAgo(3) });
    await c.admit({ at: longAgo(5) });
    const asked = await c.start(me, { at: longAgo(1) });
    accepted(await c.tasks.finish(asked.token, [turnEnded('auth-required')], longAgo(2), true));
    const later = await c.start(me, { at: longAgo(1) });
    accepted(await c.tasks.finish(later.token, [turnEnded('input-required')], longAgo(6), true));
    // Neither a run that asks nor one that works is overdue; a turn that waits for its retry since the time of that.
    const asking = await c.start(me, { at: longAgo(1) });
    accepted(await c.tasks.append(asking.token, [{ kind: 'status-reported', state: 'input-required' }], longAgo(2)));
    await c.start(me, { at: longAgo(1) });
    const retried = await c.start(me, { at: longAgo(1) });
    accepted(await c.tasks.release(retried.token, longAgo(2), longAgo(2)));

    const overdue = async (queuedBefore: number, interruptedBefore: number) =>
      c.storage.upkeep.overdue({ queuedBefore, interruptedBefore, limit: 100 });
    expect(await overdue(longAgo(4), longAgo(4))).toEqual([
      { id: queued.id, why: 'queued' },
      { id: retried.token.taskId, why: 'retry' },
      { id: asked.token.taskId, why: 'interrupted' },
    ]);
    expect(await overdue(longAgo(2), longAgo(2))).toEqual([]);
    expect(await overdue(longAgo(9), longAgo(9))).toHaveLength(5);
    for (const { id } of await overdue(longAgo(9), longAgo(9))) accepted(await c.tasks.remove('all', id, c.later()));
  });

  it('expire deletes tasks that ended before a time, at most as many as asked', async (c) => {
    const me = await c.instance();
    const old = [];
    for (let n = 0; n < 5; n += 1) old.push(await endedAt(c, me, longAgo(10)));
    const recent = await endedAt(c, me, longAgo(20));
    const { upkeep } = c.storage;
    expect(await upkeep.expire(longAgo(10), 100)).toBe(0);
    expect(await upkeep.expire(longAgo(15), 3)).toBe(3);
    expect(await upkeep.expire(longAgo(15), 3)).toBe(2);
    expect(await upkeep.expire(longAgo(15), 3)).toBe(0);
    for (const id of old) {
      expect(await c.tasks.find('all', id)).toBe(undefined);
      expect(await c.log(id)).toEqual([]);
    }
    expect(idsOf((await c.list()).tasks)).toEqual([recent]);
    expect(await upkeep.expire(longAgo(21), 100)).toBe(1);
  });

  it('expire and purge never delete a task that is open, or whose run is still held', async (c) => {
    const me = await c.instance();
    const at = longAgo(30);
    const { task: waiting } = await c.admit({ at });
    const working = await c.start(me, { at });
    const asked = await c.start(me, { at });
    accepted(await c.tasks.finish(asked.token, [turnEnded('input-required')], at, true));
    const finished = await c.start(me, { at });
    accepted(await c.tasks.finish(finished.token, [turnEnded('completed')], at, false));
    const forced = await c.start(me, { at });
    accepted(await c.tasks.force(forced.token.taskId, ['working'], turnEnded('failed'), at));
    const { upkeep } = c.storage;
    expect(await upkeep.expire(longAgo(31), 100)).toBe(0);
    expect(await upkeep.purge({ owner: c.owner, limit: 100 })).toBe(0);
    expect(await upkeep.purge({ contextId: waiting.contextId, limit: 100 })).toBe(0);
    expect((await c.list()).total).toBe(5);
    for (const { token } of [finished, forced]) accepted(await c.tasks.release(token, c.later()));
    expect(await upkeep.expire(longAgo(31), 100)).toBe(2);
    await c.complete(working);
    expect((await c.list()).total).toBe(3);
  });

  it('purge deletes the ended tasks of an owner, of a context, or of an owner in a context', async (c) => {
    const me = await c.instance();
    const { upkeep } = c.storage;
    const [x, y] = [c.name('x'), c.name('y')];
    const [here, there] = [c.name('here'), c.name('there')];
    const fill = async (): Promise<void> => {
      for (const owner of [x, y])
        for (const contextId of [here, there]) await endedAt(c, me, c.later(), { owner, contextId });
    };
    const left = async () => {
      const both = [...(await c.list({ owner: x }, 'all')).tasks, ...(await c.list({ owner: y }, 'all')).tasks];
      return both
        .map(({ owner, contextId }) => `${owner === x ? 'x' : 'y'} ${contextId === here ? 'here' : 'there'}`)
        .toSorted();
    };
    await fill();
    expect(await upkeep.purge({ owner: x, contextId: here, limit: 9 })).toBe(1);
    expect(await left()).toEqual(['x there', 'y here', 'y there']);
    expect(await upkeep.purge({ contextId: there, limit: 9 })).toBe(2);
    expect(await left()).toEqual(['y here']);
    await fill();
    expect(await upkeep.purge({ owner: y, limit: 2 })).toBe(2);
    expect(await upkeep.purge({ owner: y, limit: 2 })).toBe(1);
    expect(await left()).toEqual(['x here', 'x there']);
    expect(await upkeep.purge({ limit: 9 })).toBe(0);
  });

  it('counts turns that wait in lanes and turns that a run holds', async (c) => {
    const me = await c.instance();
    const { upkeep } = c.storage;
    const before = await upkeep.counts();
    const run = await c.start(me, { session: c.name('main') });
    const since = longAgo(1);
    const { task } = await c.admit({ at: since });
    await c.admit();
    expect(await upkeep.counts()).toEqual({
      waiting: before.waiting + 2,
      running: before.running + 1,
      oldestWaitingSince: since,
    });
    accepted(await c.tasks.remove(c.scope, task.id, c.later()));
    await c.complete(run);
    const { waiting, running } = await upkeep.counts();
    expect([waiting, running]).toEqual([before.waiting + 1, before.running]);
  });

  it('check answers nothing while the store can be written', async (c) => {
    expect(await c.storage.upkeep.check()).toBe(undefined);
    expect(refusal(await c.tasks.admit(c.admission()))).toBe('accepted');
  });

  it('tells how long commits took', async (c) => {
    const durations: number[] = [];
    {
      using _ = c.storage.onCommit((durationMs) => durations.push(durationMs));
      await c.admit();
    }
    const told = durations.length;
    expect(told).not.toBe(0);
    expect(durations.every((durationMs) => durationMs >= 0)).toBe(true);
    await c.admit();
    expect(durations).toHaveLength(told);
  });
};
