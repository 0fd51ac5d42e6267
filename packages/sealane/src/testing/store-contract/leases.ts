import { accepted, chunk, refusal, turnEnded } from './contract-events.ts';
import type { Suite } from './suite.ts';

export const describeLeases = ({ it, expect }: Suite): void => {
  it('renew takes out a lease and prolongs it', async (c) => {
    const me = c.name('me');
    expect(refusal(await c.tasks.renew(me, 3_600_000))).toBe('accepted');
    expect(refusal(await c.tasks.renew(me, 3_600_000))).toBe('accepted');
    await c.start(me);
    expect(await c.reap(await c.instance())).toEqual([]);
  });

  it('`lost`: an expired lease is never revived', async (c) => {
    const me = await c.instance();
    await c.expire(me);
    expect(refusal(await c.tasks.renew(me, 3_600_000))).toBe('lost');
    expect(refusal(await c.tasks.renew(me, 3_600_000))).toBe('lost');
  });

  it('`lost`: nor is it revived after somebody has reaped its runs', async (c) => {
    const [old, heir] = [await c.instance(), await c.instance()];
    await c.start(old);
    await c.expire(old);
    expect(await c.reap(heir)).toHaveLength(1);
    expect(refusal(await c.tasks.renew(old, 3_600_000))).toBe('lost');
  });

  it('`lost`: nor is the lease of an instance that has left', async (c) => {
    const me = await c.instance();
    await c.tasks.leave(me);
    expect(refusal(await c.tasks.renew(me, 3_600_000))).toBe('lost');
  });

  it('reap takes the runs of expired and departed instances, and no others', async (c) => {
    const [expired, departed, alive, heir] = [
      await c.instance('expired'),
      await c.instance('departed'),
      await c.instance('alive'),
      await c.instance('heir'),
    ];
    const lost = [(await c.start(expired)).token.taskId, (await c.start(departed)).token.taskId];
    const living = await c.start(alive);
    await c.admit();
    await c.expire(expired);
    await c.tasks.leave(departed);
    const reaped = await c.reap(heir);
    expect(reaped.map(({ run }) => run.token.taskId).toSorted()).toEqual(lost.toSorted());
    await c.complete(living);
    expect(await c.reap(heir)).toEqual([]);
  });

  it('a reaped run has a new epoch and keeps its attempt, its start, its turn and what was remembered', async (c) => {
    const [old, heir] = [await c.instance(), await c.instance()];
    const run = await c.start(old, { metadata: { a: 1 }, call: { permission: 'guarded' } });
    accepted(await c.tasks.remember(run.token, { pid: 1, nested: { 'a "b"': [null] } }));
    accepted(await c.tasks.remember(run.token, { pid: 2, nested: { 'a "b"': [null] } }));
    await c.append(run, chunk('half an ans'));
    const log = await c.log(run.token.taskId);
    await c.expire(old);
    const [reaped] = await c.reap(heir);
    expect(reaped?.events).toEqual([]);
    expect(reaped?.run).toEqual({
      ...run,
      token: { ...run.token, epoch: reaped?.run.token.epoch },
      ref: { pid: 2, nested: { 'a "b"': [null] } },
      seq: 3,
    });
    expect(reaped?.run.token.epoch).not.toBe(run.token.epoch);
    expect(await c.log(run.token.taskId)).toEqual(log);
  });

  it('what was remembered outlives a second holder', async (c) => {
    const [old, heir, third] = [await c.instance(), await c.instance(), await c.instance()];
    const run = await c.start(old);
    accepted(await c.tasks.remember(run.token, { pid: 1 }));
    await c.tasks.leave(old);
    await c.reap(heir);
    await c.tasks.leave(heir);
    const [reaped] = await c.reap(third);
    expect(reaped?.run.ref).toEqual({ pid: 1 });
  });

  it('a reaped run tells whether the instance that held it has left, or was lost', async (c) => {
    const [left, expired, heir, next] = [
      await c.instance('left'),
      await c.instance('expired'),
      await c.instance('heir'),
      await c.instance('next'),
    ];
    const ids = [(await c.start(left)).token.taskId, (await c.start(expired)).token.taskId];
    await c.tasks.leave(left);
    await c.expire(expired);
    const reapedBy = async (instance: string) => {
      const reaped = await c.reap(instance);
      return ids.map((id) => reaped.find(({ run }) => run.token.taskId === id)?.run);
    };
    const [afterLeft, afterExpired] = await reapedBy(heir);
    expect([afterLeft?.holderLeft, afterExpired?.holderLeft]).toEqual([true, undefined]);
    // It says so of the last instance, and itself counts nothing.
    expect([afterLeft?.attempt, afterLeft?.drains]).toEqual([1, 0]);
    await c.expire(heir);
    expect((await reapedBy(next)).map((run) => run?.holderLeft)).toEqual([undefined, undefined]);
  });

  it('a reaped run tells whether its task has ended', async (c) => {
    const [old, heir] = [await c.instance(), await c.instance()];
    const finished = await c.start(old);
    await c.complete(finished, false);
    const forced = await c.start(old);
    accepted(await c.tasks.force(forced.token.taskId, ['working'], turnEnded('failed'), c.later()));
    const open = await c.start(old);
    await c.expire(old);
    const reaped = new Map((await c.reap(heir)).map(({ run }) => [run.token.taskId, run]));
    const isEnded = [finished, forced, open].map(({ token }) => reaped.get(token.taskId)?.ended);
    expect(isEnded).toEqual([true, true, false]);
    for (const run of reaped.values()) {
      if (run.ended) accepted(await c.tasks.release(run.token, c.later()));
      else await c.complete(run);
    }
    expect(await c.storage.lanes.list({ agent: c.agent, limit: 9 })).toEqual([]);
  });

  it('an instance without a lease reaps nothing', async (c) => {
    const [old, expired] = [await c.instance(), await c.instance()];
    await c.start(old);
    await c.expire(old);
    await c.expire(expired);
    expect(await c.tasks.reap(expired, c.later())).toEqual([]);
    expect(await c.tasks.reap(c.name('nobody'), c.later())).toEqual([]);
    expect(await c.reap(await c.instance())).toHaveLength(1);
  });

  it('of instances that reap at the same moment, one gets each run', async (c) => {
    const old = await c.instance();
    const heirs = [await c.instance(), await c.instance(), await c.instance()];
    const runs = [];
    for (let n = 0; n < 9; n += 1) runs.push((await c.start(old)).token.taskId);
    await c.expire(old);
    const reaped = (await Promise.all(heirs.map((heir) => c.reap(heir)))).flat();
    expect(reaped.map(({ run }) => run.token.taskId).toSorted()).toEqual(runs.toSorted());
    for (const { run } of reaped) await c.complete(run);
  });

  it('every run of a dead instance is reaped, however many it held', async (c) => {
    const [old, heir] = [await c.instance(), await c.instance()];
    await Promise.all(Array.from({ length: 150 }, () => c.start(old)));
    await c.tasks.leave(old);
    const reaped = new Set<string>();
    for (;;) {
      const batch = await c.tasks.reap(heir, c.later());
      if (batch.length === 0) break;
      for (const { run } of batch) if (run.agent === c.agent) reaped.add(run.token.taskId);
    }
    expect(reaped.size).toBe(150);
  });

  it('with `mine`: also runs that the instance holds and does not know of, because their answer was lost', async (c) => {
    const [me, other] = [await c.instance(), await c.instance()];
    const known = await c.start(me);
    const stray = await c.start(me);
    const heldBefore = c.later();
    const young = await c.start(me, { at: c.later() });
    const foreign = await c.start(other);
    const mine = { known: [known.token.taskId], heldBefore };
    const reaped = (await c.tasks.reap(me, c.later(), mine)).filter(({ run }) => run.agent === c.agent);
    expect(reaped.map(({ run }) => run.token.taskId)).toEqual([stray.token.taskId]);
    expect(reaped[0]?.run.token.epoch).not.toBe(stray.token.epoch);
    expect(refusal(await c.tasks.append(stray.token, [chunk('late')], c.later()))).toBe('lost');
    for (const { token } of [known, young, foreign]) {
      expect(refusal(await c.tasks.append(token, [chunk('x')], c.later()))).toBe('accepted');
    }
    expect(await c.reap(me)).toEqual([]);
  });

  it('with `mine`: a run counts from when this instance got it, not from the first attempt of its turn', async (c) => {
    const [old, me] = [await c.instance(), await c.instance()];
    const retried = await c.start(me);
    const at = c.later();
    accepted(await c.tasks.release(retried.token, at, at));
    const orphan = await c.start(old);
    await c.tasks.leave(old);
    const mine = { known: [], heldBefore: c.later() };
    const second = await c.claimOne(me);
    const [reaped] = await c.reap(me);
    if (!reaped) throw new Error('The run was not reaped.');
    expect([second.attempt, reaped.run.token.taskId]).toEqual([2, orphan.token.taskId]);
    expect(await c.tasks.reap(me, c.later(), mine)).toEqual([]);
    for (const { token } of [second, reaped.run]) {
      expect(refusal(await c.tasks.append(token, [chunk('x')], c.later()))).toBe('accepted');
    }
  });

  it('interventions: of the runs that an instance holds, those with a cancel intent, or whose task has ended', async (c) => {
    const [me, other] = [await c.instance(), await c.instance()];
    const [quiet, canceled, forced, foreign] = [
      await c.start(me),
      await c.start(me),
      await c.start(me),
      await c.start(other),
    ].map(({ token }) => token.taskId);
    for (const id of [canceled, foreign]) {
      accepted(await c.tasks.requestCancel(c.scope, id ?? '', 'somebody', c.later()));
    }
    accepted(await c.tasks.force(forced ?? '', ['working'], turnEnded('failed'), c.later()));
    const told = await c.tasks.interventions(me);
    expect([...told].toSorted()).toEqual([canceled ?? '', forced ?? ''].toSorted());
    expect(told).not.toContain(quiet);
    expect(await c.tasks.interventions(other)).toEqual([foreign]);
    expect(await c.tasks.interventions(c.name('nobody'))).toEqual([]);
  });
};
