import { accepted, chunk, progress, refusal, turnEnded, webhook } from './contract-events.ts';
import { all, claimOf, claimProbes, LEASE_MS, only, probe, rangesOf, told } from './owed.ts';
import type { Suite } from './suite.ts';

const longAgo = Date.UTC(2002, 0, 1);

export const describeOutbox = ({ it, expect }: Suite): void => {
  it('every event is owed to every follower from its commit on, whatever the step', async (c) => {
    const me = await c.instance();
    const { task } = await c.admit({ followers: [probe(c, 'a')] });
    accepted(await c.storage.outbox.follow(c.scope, task.id, probe(c, 'b')));
    expect(await told(c, me)).toEqual(['a 1-1']);
    const run = await c.claimOne(me);
    expect(await told(c, me)).toEqual(['a 2-2', 'b 2-2']);
    await c.append(run, chunk('x'), chunk('y'), chunk('z'));
    expect(await told(c, me)).toEqual(['a 3-5', 'b 3-5']);
    accepted(await c.follow(task.id, { steerable: true }));
    expect(await told(c, me)).toEqual(['a 6-6', 'b 6-6']);
    accepted(await c.tasks.finish(run.token, [chunk('end'), turnEnded('input-required')], c.later(), true));
    expect(await told(c, me)).toEqual(['a 7-8', 'b 7-8']);
    accepted(await c.follow(task.id, { slot: { instance: me } }));
    expect(await told(c, me)).toEqual(['a 9-10', 'b 9-10']);
    accepted(await c.tasks.requestCancel(c.scope, task.id, 'somebody', c.later()));
    expect(await told(c, me)).toEqual(['a 11-11', 'b 11-11']);
    accepted(await c.tasks.force(task.id, ['working'], turnEnded('canceled'), c.later()));
    expect(await told(c, me)).toEqual(['a 12-12', 'b 12-12']);
    const snapshot = { state: 'canceled', statusAt: '', artifacts: [], history: [], metadata: {} } as const;
    await c.tasks.release(run.token, c.later());
    expect(await c.log(task.id)).toHaveLength(12);
    const { id } = (await c.admit({ session: c.name('queue'), followers: [probe(c, 'a')] })).task;
    accepted(await c.tasks.requestCancel(c.scope, id, 'somebody', c.later()));
    accepted(await c.tasks.put({ ...c.admission(), id, snapshot, mode: 'replace' }));
    expect(await told(c, me)).toEqual(['a 1-3']);
  });

  it('a follower of state changes, or of the end, is owed those and no others', async (c) => {
    const me = await c.instance();
    const followers = [probe(c, 'every'), probe(c, 'state', 'state'), probe(c, 'end', 'end')];
    const run = await c.start(me, { followers });
    expect(await told(c, me)).toEqual(['every 1-2', 'state 1-2']);
    await c.append(run, chunk('x'), progress('still working'));
    expect(await told(c, me)).toEqual(['every 3-4']);
    accepted(await c.tasks.finish(run.token, [chunk('y'), turnEnded('input-required')], c.later(), true));
    expect(await told(c, me)).toEqual(['every 5-6', 'state 6-6']);
    accepted(await c.tasks.requestCancel(c.scope, run.token.taskId, 'somebody', c.later()));
    expect(await told(c, me)).toEqual(['end 7-7', 'every 7-7', 'state 7-7']);
  });

  it('reads to a follower the events of its class, from where it is', async (c) => {
    const { outbox } = c.storage;
    const me = await c.instance();
    const run = await c.start(me, {
      followers: [probe(c, 'every'), probe(c, 'state', 'state'), probe(c, 'end', 'end')],
    });
    await c.append(run, chunk('x'), progress('p'), chunk('y'));
    await c.complete(run);
    const claimed = await claimProbes(c, me);
    const seen: Record<string, readonly number[]> = {};
    for (const { claim, ranges } of claimed) {
      for (const { follower, firstSeq } of ranges) {
        const owed = await outbox.read(follower, firstSeq, 100);
        expect(owed).toMatchObject({ taskId: run.token.taskId, contextId: run.contextId, upTo: 6 });
        seen[claim.target.slice(c.name('').length)] = owed?.events.map(({ seq }) => seq) ?? [];
      }
    }
    expect(seen).toEqual({ every: [1, 2, 3, 4, 5, 6], state: [1, 2, 6], end: [6] });
    const [every] = claimed.find(({ claim }) => claim.target === c.name('every'))?.ranges ?? [];
    expect(await outbox.read(every?.follower ?? 0, 3, 2)).toMatchObject({ upTo: 4, events: [{ seq: 3 }, { seq: 4 }] });
  });

  it('reads nothing to a follower that it is not owed', async (c) => {
    const me = await c.instance();
    const run = await c.start(me, { followers: [probe(c, 'a', 'state')] });
    await c.append(run, progress('p'), chunk('x'));
    const { follower, lastSeq } = only(await claimProbes(c, me)).ranges[0] ?? { follower: 0, lastSeq: 0 };
    expect(lastSeq).toBe(2);
    const owed = await c.storage.outbox.read(follower, 1, 100);
    expect(owed?.events.map(({ seq }) => seq)).toEqual([1, 2]);
    expect(owed?.upTo).toBe(2);
  });

  it('a follower is owed what comes after it was added', async (c) => {
    const me = await c.instance();
    const run = await c.start(me);
    await c.append(run, chunk('before'));
    accepted(await c.storage.outbox.follow(c.scope, run.token.taskId, probe(c, 'a')));
    expect(await told(c, me)).toEqual([]);
    await c.append(run, chunk('after'));
    expect(await told(c, me)).toEqual(['a 4-4']);
    accepted(await c.storage.outbox.unfollow(c.scope, run.token.taskId, probe(c, 'a')));
    await c.append(run, chunk('more'));
    expect(await told(c, me)).toEqual([]);
    const foreign = { owner: c.name('stranger'), tenant: c.tenant };
    expect(refusal(await c.storage.outbox.follow(foreign, run.token.taskId, probe(c, 'a')))).toBe('absent');
  });

  it('nothing is owed about what was refused', async (c) => {
    const me = await c.instance();
    const run = await c.start(me, { followers: [probe(c, 'a')] });
    await told(c, me);
    const stale = { ...run.token, epoch: run.token.epoch + 1 };
    expect(refusal(await c.tasks.append(stale, [chunk('x')], c.later()))).toBe('lost');
    expect(refusal(await c.tasks.finish(stale, [turnEnded('failed')], c.later(), true))).toBe('lost');
    expect(await told(c, me)).toEqual([]);
  });

  it('a webhook follows every event, unless it is silent, and its target names its configuration as it is now', async (c) => {
    const { outbox, pushConfigs } = c.storage;
    const instance = await c.instance();
    const { task } = await c.admit({ push: webhook('a') });
    accepted(await pushConfigs.save(c.scope, task.id, webhook('silent', { isSilent: true })));
    const changed = { url: 'https://changed.example' };
    accepted(await pushConfigs.save(c.scope, task.id, webhook('a', { config: changed })));
    const claimed = await outbox.claim({ kind: 'webhook', instance, limit: 1000, leaseMs: LEASE_MS });
    const own = [];
    for (const owed of claimed) {
      const config = await pushConfigs.at(owed.claim.target);
      if (config?.taskId === task.id) own.push({ owed, config });
    }
    expect(own).toHaveLength(1);
    const [{ owed, config }] = own as [(typeof own)[0]];
    expect(config).toEqual({ taskId: task.id, id: 'a', config: changed, status: 'active' });
    expect(owed.ranges).toMatchObject([{ firstSeq: 1, lastSeq: 1, attempts: 0 }]);
    const handled = owed.ranges.map(({ follower }) => ({ follower, upTo: 1 }));
    accepted(await outbox.advance(owed.claim, handled, LEASE_MS, { status: 'failed' }));
    expect(await pushConfigs.at(owed.claim.target)).toMatchObject({ status: 'failed' });
    accepted(await pushConfigs.remove(c.scope, task.id, 'a'));
    expect(await pushConfigs.at(owed.claim.target)).toBe(undefined);
  });

  it('is claimed by one at a time, and what comes meanwhile is answered to the one who has it', async (c) => {
    const { outbox } = c.storage;
    const me = await c.instance();
    const run = await c.start(me, { followers: [probe(c, 'a')] });
    const owed = only(await claimProbes(c, me));
    const { follower } = owed.ranges[0] ?? { follower: 0 };
    await c.append(run, chunk('x'), chunk('y'));
    expect(await claimProbes(c, me)).toEqual([]);
    let { claim } = owed;
    const upTo = async (seq: number) => {
      const left = accepted(await outbox.advance(claim, [{ follower, upTo: seq }], LEASE_MS)).owed;
      claim = left?.claim ?? claim;
      return left;
    };
    expect(await upTo(1)).toMatchObject({ claim: { k: claim.k }, ranges: [{ firstSeq: 2, lastSeq: 4 }] });
    expect(await upTo(3)).toMatchObject({ ranges: [{ firstSeq: 4, lastSeq: 4 }] });
    // What was handled stays handled.
    expect(await upTo(1)).toMatchObject({ ranges: [{ firstSeq: 4, lastSeq: 4 }] });
    expect(await upTo(4)).toBe(undefined);
    expect(refusal(await outbox.advance(claim, [], LEASE_MS))).toBe('lost');
    expect(await claimProbes(c, me)).toEqual([]);
    await c.append(run, chunk('z'));
    expect(rangesOf(only(await claimProbes(c, me)))).toEqual(['5-5']);
  });

  it('a claim has what is due for its target from all subjects, and no second one is open for that target', async (c) => {
    const { outbox } = c.storage;
    const me = await c.instance();
    const runs = [];
    for (let n = 0; n < 3; n += 1) runs.push(await c.start(me, { followers: [probe(c, 'plan', 'end')] }));
    expect(await claimProbes(c, me)).toEqual([]);
    const [first, second, third] = runs as [(typeof runs)[0], (typeof runs)[0], (typeof runs)[0]];
    await c.complete(first);
    await c.complete(second);
    const owed = only(await claimProbes(c, me));
    expect(owed.ranges.map(({ subject }) => subject.key)).toEqual([first.token.task, second.token.task]);
    await c.complete(third);
    expect(await claimProbes(c, me)).toEqual([]);
    const left = accepted(await outbox.advance(owed.claim, all(owed).slice(0, 1), LEASE_MS)).owed ?? owed;
    expect(await claimProbes(c, me)).toEqual([]);
    accepted(await outbox.advance(left.claim, all(owed).slice(1), LEASE_MS));
    expect(only(await claimProbes(c, me)).ranges.map(({ subject }) => subject.key)).toEqual([third.token.task]);
  });

  it('a claim whose lease is over is void once another was made', async (c) => {
    const { outbox } = c.storage;
    const me = await c.instance();
    await c.start(me, { followers: [probe(c, 'a')] });
    const late = only(await claimProbes(c, me, { leaseMs: 0 }));
    const next = only(await claimProbes(c, me));
    expect(rangesOf(next)).toEqual(['1-2']);
    expect(refusal(await outbox.advance(late.claim, all(late), LEASE_MS, { add: 1 }))).toBe('lost');
    const { answer, owed } = accepted(await outbox.advance(next.claim, all(next), LEASE_MS, { add: 1 }));
    expect([answer, owed]).toEqual([{ amount: 1 }, undefined]);
  });

  it('the claims of an instance end with its lease, and without one nothing can be claimed', async (c) => {
    const [dead, heir] = [await c.instance(), await c.instance()];
    await c.start(heir, { followers: [probe(c, 'a')] });
    const lost = only(await claimProbes(c, dead));
    expect(await claimProbes(c, heir)).toEqual([]);
    await c.expire(dead);
    expect(await claimProbes(c, dead)).toEqual([]);
    expect(rangesOf(only(await claimProbes(c, heir)))).toEqual(['1-2']);
    expect(refusal(await c.storage.outbox.advance(lost.claim, all(lost), LEASE_MS))).toBe('lost');
  });

  it('what failed is claimed again from where it was, after its pause, and its failures are counted', async (c) => {
    const { outbox } = c.storage;
    const me = await c.instance();
    const run = await c.start(me, { followers: [probe(c, 'a')] });
    const owed = only(await claimProbes(c, me));
    const { follower } = owed.ranges[0] ?? { follower: 0 };
    const left = accepted(await outbox.advance(owed.claim, [{ follower, upTo: 1 }], LEASE_MS)).owed ?? owed;
    expect(accepted(await outbox.advance(left.claim, [{ follower, againAfterMs: 0 }], LEASE_MS)).owed).toBe(undefined);
    const second = only(await claimProbes(c, me));
    expect(second.ranges).toMatchObject([{ firstSeq: 2, attempts: 1 }]);
    await c.append(run, chunk('y'));
    const third = accepted(await outbox.advance(second.claim, [{ follower, upTo: 2 }], LEASE_MS)).owed ?? second;
    expect(third.ranges).toMatchObject([{ firstSeq: 3, attempts: 0 }]);
    accepted(await outbox.advance(third.claim, [{ follower, againAfterMs: LEASE_MS }], LEASE_MS));
    await c.append(run, chunk('x'));
    expect(await claimProbes(c, me)).toEqual([]);
  });

  it('a follower can ask to be called again, owed or not; what it is owed meanwhile does not wait for that', async (c) => {
    const { outbox } = c.storage;
    const me = await c.instance();
    const run = await c.start(me, { followers: [probe(c, 'a')] });
    const owed = only(await claimProbes(c, me));
    const { follower } = owed.ranges[0] ?? { follower: 0 };
    const again = async (upTo: number, againAfterMs: number) =>
      accepted(await outbox.advance(owed.claim, [{ follower, upTo, againAfterMs }], LEASE_MS)).owed;
    expect(await again(2, 0)).toBe(undefined);
    const called = only(await claimProbes(c, me));
    expect(called.ranges).toMatchObject([{ firstSeq: 3, lastSeq: 2, attempts: 0 }]);
    accepted(await outbox.advance(called.claim, [{ follower, upTo: 2, againAfterMs: LEASE_MS }], LEASE_MS));
    expect(await claimProbes(c, me)).toEqual([]);
    await c.append(run, chunk('x'));
    const owedMore = only(await claimProbes(c, me));
    expect(rangesOf(owedMore)).toEqual(['3-3']);
    // Also what it is owed while it is being handled.
    await c.append(run, chunk('y'));
    accepted(await outbox.advance(owedMore.claim, [{ follower, upTo: 3, againAfterMs: LEASE_MS }], LEASE_MS));
    expect(rangesOf(only(await claimProbes(c, me)))).toEqual(['4-4']);
  });

  it('another follower of the same kind and target takes the place of the first', async (c) => {
    const me = await c.instance();
    const run = await c.start(me, { followers: [probe(c, 'a', 'end')] });
    accepted(await c.storage.outbox.follow(c.scope, run.token.taskId, probe(c, 'a', 'every')));
    await c.append(run, chunk('x'));
    expect(await told(c, me)).toEqual(['a 3-3']);
  });

  it('an advance that was done is not done again, and one that moves nothing writes nothing', async (c) => {
    const { outbox } = c.storage;
    const me = await c.instance();
    const run = await c.start(me, { followers: [probe(c, 'a')] });
    const owed = only(await claimProbes(c, me));
    const { follower } = owed.ranges[0] ?? { follower: 0 };
    const once = [{ follower, upTo: 1 }];
    const first = accepted(await outbox.advance(owed.claim, once, LEASE_MS, { add: 1 }));
    expect(first.answer).toEqual({ amount: 1 });
    // As after an answer that was lost on its way.
    expect(refusal(await outbox.advance(owed.claim, once, LEASE_MS, { add: 1 }))).toBe('lost');
    const idle = accepted(await outbox.advance(first.owed?.claim ?? owed.claim, [], LEASE_MS, { add: 1 }));
    expect(idle.answer).toBe(undefined);
    accepted(await outbox.unfollow(c.scope, run.token.taskId, probe(c, 'a')));
    const gone = accepted(await outbox.advance(idle.owed?.claim ?? owed.claim, once, LEASE_MS, { add: 1 }));
    expect([gone.answer, gone.owed]).toEqual([undefined, undefined]);
    const again = await claimOf(c, me, 'a');
    expect(accepted(await outbox.advance(again.claim, all(again), LEASE_MS, { add: 0 })).answer).toEqual({ amount: 1 });
  });

  it('a claim is void with its lease, and with that of its instance, also when no other was made', async (c) => {
    const { outbox } = c.storage;
    const me = await c.instance();
    await c.start(me, { followers: [probe(c, 'a')] });
    const late = only(await claimProbes(c, me, { leaseMs: 0 }));
    expect(refusal(await outbox.advance(late.claim, all(late), LEASE_MS, { add: 1 }))).toBe('lost');
    const dead = await c.instance();
    const lost = only(await claimProbes(c, dead));
    await c.expire(dead);
    expect(refusal(await outbox.advance(lost.claim, all(lost), LEASE_MS, { add: 1 }))).toBe('lost');
  });

  it('claims at most as many targets as asked, the longest due first', async (c) => {
    const me = await c.instance();
    await claimProbes(c, me);
    for (const target of ['a', 'b', 'c']) {
      await c.admit({ session: c.name(target), followers: [probe(c, target)] });
    }
    const two = await claimProbes(c, me, { limit: 2 });
    const rest = await claimProbes(c, me, { limit: 2 });
    expect([two.length, rest.length]).toEqual([2, 1]);
    expect([...two, ...rest].map(({ claim }) => claim.target)).toEqual(['a', 'b', 'c'].map(c.name));
  });

  it('two who claim at the same time never get the same', async (c) => {
    const me = await c.instance();
    await claimProbes(c, me);
    const targets = Array.from({ length: 12 }, (_, n) => `t${n}`);
    for (const target of targets) await c.admit({ session: c.name(target), followers: [probe(c, target)] });
    const claims = await Promise.all(
      [c.storage, c.neighbour ?? c.storage, c.storage].map((storage) => claimProbes(c, me, { storage, limit: 8 })),
    );
    const taken = claims.flat().map(({ claim }) => claim.target);
    expect(new Set(taken).size).toBe(taken.length);
    const rest = await claimProbes(c, me);
    expect([...taken, ...rest.map(({ claim }) => claim.target)].toSorted()).toEqual(targets.map(c.name).toSorted());
  });

  it('nothing is lost between those who write and those who handle', async (c) => {
    const me = await c.instance();
    const run = await c.start(me, { followers: [probe(c, 'a')] });
    const storage = c.neighbour ?? c.storage;
    const seen: number[] = [];
    let isOver = false;
    const handle = async (): Promise<void> => {
      while (!isOver || seen.at(-1) !== 102) {
        let [owed] = await claimProbes(c, me, { storage });
        while (owed) {
          const [range] = owed.ranges;
          for (let seq = range?.firstSeq ?? 0; seq <= (range?.lastSeq ?? -1); seq += 1) seen.push(seq);
          owed = accepted(await storage.outbox.advance(owed.claim, all(owed), LEASE_MS)).owed;
        }
      }
    };
    const handling = handle();
    for (let n = 0; n < 100; n += 1) await c.append(run, chunk('x'));
    isOver = true;
    await handling;
    expect(seen).toEqual(Array.from({ length: 102 }, (_, n) => n + 1));
  });

  it('nothing is owed to a follower or about a task that is gone, and it is in the way of nobody', async (c) => {
    const { outbox } = c.storage;
    const me = await c.instance();
    const run = await c.start(me, { followers: [probe(c, 'a'), probe(c, 'b')] });
    accepted(await outbox.unfollow(c.scope, run.token.taskId, probe(c, 'a')));
    const owed = only(await claimProbes(c, me));
    accepted(await outbox.unfollow(c.scope, run.token.taskId, probe(c, 'b')));
    expect(accepted(await outbox.advance(owed.claim, all(owed), LEASE_MS)).owed).toBe(undefined);
    await c.append(run, chunk('z'));
    expect(await claimProbes(c, me)).toEqual([]);
    // Not even when it comes back under the same name.
    accepted(await outbox.follow(c.scope, run.token.taskId, probe(c, 'b')));
    expect(await claimProbes(c, me)).toEqual([]);
  });

  it('no task is expired or purged while something about it is owed', async (c) => {
    const { outbox, upkeep } = c.storage;
    const me = await c.instance();
    const run = await c.start(me, { at: longAgo, followers: [probe(c, 'a')] });
    accepted(await c.tasks.finish(run.token, [turnEnded('completed')], longAgo, true));
    const { taskId } = run.token;
    const owed = only(await claimProbes(c, me));
    expect(await upkeep.expire(longAgo + 1, 100)).toBe(0);
    expect(await upkeep.purge({ owner: c.owner, limit: 100 })).toBe(0);
    expect(await upkeep.purge({ contextId: run.contextId, limit: 100 })).toBe(0);
    accepted(await outbox.advance(owed.claim, all(owed), LEASE_MS));
    expect(await upkeep.expire(longAgo + 1, 100)).toBe(1);
    expect(await c.tasks.find('all', taskId)).toBe(undefined);
  });

  it('tells its listeners when something is owed, and only then', async (c) => {
    let heard = 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    using _ = c.storage.outbox.onOwed(() => {
      heard += 1;
      resolve();
    });
    await c.complete(await c.start(await c.instance()));
    const run = await c.start(await c.instance(), { followers: [probe(c, 'end', 'end')] });
    await c.append(run, chunk('x'));
    expect(heard).toBe(0);
    await c.complete(run);
    await promise;
    expect(heard).toBe(1);
  });

  it('what the kind writes and that the events were handled is one commit', async (c) => {
    const { outbox } = c.storage;
    const me = await c.instance();
    const owed = await claimOf(c, me, 'a');
    const admission = c.admission({ session: c.name('next') });
    const advanced = accepted(await outbox.advance(owed.claim, all(owed), LEASE_MS, { add: 2, admit: admission }));
    expect(advanced.owed).toBe(undefined);
    expect(advanced.answer).toMatchObject({ amount: 2, admitted: { task: { id: admission.id } } });
    expect((await c.task(admission.id)).state).toBe('submitted');
    // A claim that is void writes nothing.
    expect(refusal(await outbox.advance(owed.claim, all(owed), LEASE_MS, { add: 5, admit: c.admission() }))).toBe(
      'lost',
    );
    const again = await claimOf(c, me, 'a');
    expect(accepted(await outbox.advance(again.claim, all(again), LEASE_MS, { add: 0 })).answer).toEqual({ amount: 2 });
  });

  it('what the kind refuses leaves everything as it was, and the claim open', async (c) => {
    const { outbox } = c.storage;
    const me = await c.instance();
    const owed = await claimOf(c, me, 'a');
    const session = c.name('full');
    await c.admit({ session });
    const full = c.admission({ session, limits: { laneWaiting: 1, ownerWaiting: 0 } });
    expect(refusal(await outbox.advance(owed.claim, all(owed), LEASE_MS, { add: 3, admit: full }))).toBe('full');
    expect(await c.tasks.find('all', full.id)).toBe(undefined);
    const { answer } = accepted(await outbox.advance(owed.claim, all(owed), LEASE_MS, { add: 1 }));
    expect(answer).toEqual({ amount: 1 });
  });
};
