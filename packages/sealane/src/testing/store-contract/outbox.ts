import type { Owed, Storage, TaskId } from '#store';

import type { Corner } from './contract-corner.ts';
import { accepted, chunk, refusal, turnEnded, webhook } from './contract-events.ts';
import type { Suite } from './suite.ts';

const LEASE_MS = 3_600_000;

/** What is owed about these tasks; other tests may have left something of theirs, which is claimed as well. */
const claimOf = async (
  { outbox }: Storage,
  ids: readonly TaskId[],
  { leaseMs = LEASE_MS, limit = 1000 } = {},
): Promise<readonly Owed[]> => {
  const claimed = await outbox.claim({ limit, leaseMs });
  return claimed.filter(({ claim }) => ids.includes(claim.taskId));
};

/** What is owed to each webhook of a task, as `id first-last`, told and gone afterwards. */
const told = async (c: Corner, id: TaskId): Promise<readonly string[]> => {
  const owed = await claimOf(c.storage, [id]);
  for (const { claim, lastSeq } of owed) await c.storage.outbox.done(claim, lastSeq, LEASE_MS);
  return owed.map(({ webhook: { id: own }, firstSeq, lastSeq }) => `${own} ${firstSeq}-${lastSeq}`).toSorted();
};

const only = (owed: readonly Owed[]): Owed => {
  if (!owed[0] || owed.length > 1) throw new Error(`Expected one claim, got ${owed.length}.`);
  return owed[0];
};

const longAgo = Date.UTC(2002, 0, 1);

export const describeOutbox = ({ it, expect }: Suite): void => {
  it('every event is owed to every webhook from its commit on, whatever the step', async (c) => {
    const me = await c.instance();
    const { task } = await c.admit({ push: webhook('a') });
    accepted(await c.storage.pushConfigs.save(c.scope, task.id, webhook('b')));
    expect(await told(c, task.id)).toEqual(['a 1-1']);
    const run = await c.claimOne(me);
    expect(await told(c, task.id)).toEqual(['a 2-2', 'b 2-2']);
    await c.append(run, chunk('x'), chunk('y'), chunk('z'));
    expect(await told(c, task.id)).toEqual(['a 3-5', 'b 3-5']);
    accepted(await c.follow(task.id, { steerable: true }));
    expect(await told(c, task.id)).toEqual(['a 6-6', 'b 6-6']);
    accepted(await c.tasks.finish(run.token, [chunk('end'), turnEnded('input-required')], c.later(), true));
    expect(await told(c, task.id)).toEqual(['a 7-8', 'b 7-8']);
    accepted(await c.follow(task.id, { slot: { instance: me } }));
    expect(await told(c, task.id)).toEqual(['a 9-10', 'b 9-10']);
    accepted(await c.tasks.requestCancel(c.scope, task.id, 'somebody', c.later()));
    expect(await told(c, task.id)).toEqual(['a 11-11', 'b 11-11']);
    accepted(await c.tasks.force(task.id, ['working'], turnEnded('canceled'), c.later()));
    expect(await told(c, task.id)).toEqual(['a 12-12', 'b 12-12']);
    expect(await c.log(task.id)).toHaveLength(12);
  });

  it('a canceled queue place and a task written as a whole are owed, too', async (c) => {
    const { task } = await c.admit({ push: webhook('a') });
    await told(c, task.id);
    accepted(await c.tasks.requestCancel(c.scope, task.id, 'somebody', c.later()));
    expect(await told(c, task.id)).toEqual(['a 2-2']);
    const { state, statusAt } = await c.task(task.id);
    const snapshot = { state, statusAt, artifacts: [], history: [], metadata: {} };
    accepted(await c.tasks.put({ ...c.admission(), id: task.id, snapshot, mode: 'replace' }));
    expect(await told(c, task.id)).toEqual(['a 3-3']);
  });

  it('a turn that starts with its admission is owed whole', async (c) => {
    const run = await c.start(await c.instance(), { push: webhook('a') });
    expect(await told(c, run.token.taskId)).toEqual(['a 1-2']);
  });

  it('a webhook is owed what comes after it was saved', async (c) => {
    const run = await c.start(await c.instance());
    const { taskId } = run.token;
    await c.append(run, chunk('before'));
    accepted(await c.storage.pushConfigs.save(c.scope, taskId, webhook('a')));
    expect(await told(c, taskId)).toEqual([]);
    await c.append(run, chunk('after'));
    expect(await told(c, taskId)).toEqual(['a 4-4']);
    const id = await c.interrupted(await c.instance());
    accepted(await c.follow(id, { push: webhook('b') }));
    expect(await told(c, id)).toEqual(['b 4-4']);
  });

  it('nothing is owed without a webhook, to a silent one, or about what was refused', async (c) => {
    const me = await c.instance();
    const plain = await c.start(me);
    await c.complete(plain);
    const silent = await c.start(me);
    accepted(await c.storage.pushConfigs.save(c.scope, silent.token.taskId, webhook('a', { isSilent: true })));
    await c.complete(silent);
    const lost = await c.start(me, { push: webhook('a') });
    await told(c, lost.token.taskId);
    const stale = { ...lost.token, epoch: lost.token.epoch + 1 };
    expect(refusal(await c.tasks.append(stale, [chunk('x')], c.later()))).toBe('lost');
    expect(refusal(await c.tasks.finish(stale, [turnEnded('failed')], c.later(), true))).toBe('lost');
    const ids = [plain, silent, lost].map(({ token }) => token.taskId);
    expect(await claimOf(c.storage, ids)).toEqual([]);
  });

  it('says what is owed to whom: the webhook as it is now, and from which event on', async (c) => {
    const { task } = await c.admit({ push: webhook('a') });
    const changed = { url: 'https://changed.example' };
    accepted(await c.storage.pushConfigs.save(c.scope, task.id, webhook('a', { config: changed })));
    const owed = only(await claimOf(c.storage, [task.id]));
    expect(owed).toMatchObject({ contextId: task.contextId, firstSeq: 1, lastSeq: 1, attempts: 0 });
    expect(owed.webhook).toEqual({ taskId: task.id, id: 'a', config: changed });
  });

  it('is claimed by one at a time, and what comes meanwhile is answered to the one who has it', async (c) => {
    const { outbox } = c.storage;
    const run = await c.start(await c.instance(), { push: webhook('a') });
    const { taskId } = run.token;
    const owed = only(await claimOf(c.storage, [taskId]));
    await c.append(run, chunk('x'), chunk('y'));
    expect(await claimOf(c.storage, [taskId])).toEqual([]);
    expect(await outbox.done(owed.claim, 1, LEASE_MS)).toMatchObject({ firstSeq: 2, lastSeq: 4, claim: owed.claim });
    expect(await outbox.done(owed.claim, 3, LEASE_MS)).toMatchObject({ firstSeq: 4, lastSeq: 4 });
    expect(await outbox.done(owed.claim, 4, LEASE_MS)).toBe(undefined);
    expect(await claimOf(c.storage, [taskId])).toEqual([]);
    await c.append(run, chunk('z'));
    expect(only(await claimOf(c.storage, [taskId]))).toMatchObject({ firstSeq: 5, lastSeq: 5 });
  });

  it('a claim whose time is up is void once somebody else has claimed', async (c) => {
    const { outbox } = c.storage;
    const run = await c.start(await c.instance(), { push: webhook('a') });
    const { taskId } = run.token;
    const late = only(await claimOf(c.storage, [taskId], { leaseMs: 0 }));
    const next = only(await claimOf(c.storage, [taskId]));
    expect(next).toMatchObject({ firstSeq: 1, lastSeq: 2 });
    expect(await outbox.done(late.claim, 2, LEASE_MS)).toBe(undefined);
    expect(await outbox.failed(late.claim, 0)).toBe(false);
    expect(await outbox.done(next.claim, 1, LEASE_MS)).toMatchObject({ firstSeq: 2, lastSeq: 2 });
    expect(await outbox.done(next.claim, 2, LEASE_MS)).toBe(undefined);
    expect(await outbox.failed(next.claim, 0)).toBe(false);
  });

  it('what failed is claimed again from where it was, after its pause, and its failures are counted', async (c) => {
    const { outbox } = c.storage;
    const run = await c.start(await c.instance(), { push: webhook('a') });
    const { taskId } = run.token;
    const first = only(await claimOf(c.storage, [taskId]));
    await outbox.done(first.claim, 1, LEASE_MS);
    expect(await outbox.failed(first.claim, 0)).toBe(true);
    expect(await outbox.done(first.claim, 2, LEASE_MS)).toBe(undefined);
    const second = only(await claimOf(c.storage, [taskId]));
    expect(second).toMatchObject({ firstSeq: 2, attempts: 1 });
    expect(await outbox.failed(second.claim, LEASE_MS)).toBe(true);
    await c.append(run, chunk('x'));
    expect(await claimOf(c.storage, [taskId])).toEqual([]);
  });

  it('claims at most as many as asked, the longest due first', async (c) => {
    await claimOf(c.storage, []);
    const ids: TaskId[] = [];
    for (let n = 0; n < 3; n += 1) ids.push((await c.admit({ push: webhook('a') })).task.id);
    const two = await claimOf(c.storage, ids, { limit: 2 });
    const rest = await claimOf(c.storage, ids, { limit: 2 });
    expect([two.length, rest.length]).toEqual([2, 1]);
    expect([...two, ...rest].map(({ claim }) => claim.taskId).toSorted()).toEqual(ids.toSorted());
  });

  it('two who claim at the same time never get the same', async (c) => {
    await claimOf(c.storage, []);
    const ids: TaskId[] = [];
    for (let n = 0; n < 12; n += 1) ids.push((await c.admit({ push: webhook('a') })).task.id);
    const claims = await Promise.all(
      [c.storage, c.neighbour ?? c.storage, c.storage].map((storage) => claimOf(storage, ids, { limit: 8 })),
    );
    const taken = claims.flat().map(({ claim }) => claim.taskId);
    expect(new Set(taken).size).toBe(taken.length);
    const rest = await claimOf(c.storage, ids);
    expect([...taken, ...rest.map(({ claim }) => claim.taskId)].toSorted()).toEqual(ids.toSorted());
  });

  it('nothing is lost between those who write and those who tell', async (c) => {
    const run = await c.start(await c.instance(), { push: webhook('a') });
    const { taskId } = run.token;
    const { outbox } = c.neighbour ?? c.storage;
    const seen: number[] = [];
    let isOver = false;
    const tell = async (): Promise<void> => {
      while (!isOver || seen.at(-1) !== 102) {
        let owed: Owed | undefined = (await claimOf(c.neighbour ?? c.storage, [taskId]))[0];
        while (owed) {
          for (let seq = owed.firstSeq; seq <= owed.lastSeq; seq += 1) seen.push(seq);
          owed = await outbox.done(owed.claim, owed.lastSeq, LEASE_MS);
        }
      }
    };
    const telling = tell();
    for (let n = 0; n < 100; n += 1) await c.append(run, chunk('x'));
    isOver = true;
    await telling;
    expect(seen).toEqual(Array.from({ length: 102 }, (_, n) => n + 1));
  });

  it('nothing is owed to a webhook or about a task that has been removed', async (c) => {
    const { outbox, pushConfigs } = c.storage;
    const run = await c.start(await c.instance(), { push: webhook('a') });
    const { taskId } = run.token;
    accepted(await pushConfigs.save(c.scope, taskId, webhook('b')));
    await c.append(run, chunk('x'));
    accepted(await pushConfigs.remove(c.scope, taskId, 'a'));
    expect(await told(c, taskId)).toEqual(['b 3-3']);
    await c.append(run, chunk('y'));
    const owed = only(await claimOf(c.storage, [taskId]));
    accepted(await pushConfigs.remove(c.scope, taskId, 'b'));
    expect(await outbox.done(owed.claim, 4, LEASE_MS)).toBe(undefined);
    await c.append(run, chunk('z'));
    expect(await claimOf(c.storage, [taskId])).toEqual([]);
    // Not even when it comes back under the same id.
    const { task } = await c.admit({ push: webhook('a') });
    accepted(await pushConfigs.remove(c.scope, task.id, 'a'));
    accepted(await pushConfigs.save(c.scope, task.id, webhook('a')));
    expect(await claimOf(c.storage, [task.id])).toEqual([]);
  });

  it("what was owed about a removed task is in nobody's way", async (c) => {
    await claimOf(c.storage, []);
    const { task } = await c.admit({ push: webhook('a') });
    accepted(await c.tasks.remove(c.scope, task.id));
    await c.admit({ id: task.id });
    const { task: next } = await c.admit({ push: webhook('a') });
    const claimed = await claimOf(c.storage, [task.id, next.id], { limit: 1 });
    expect(claimed.map(({ claim }) => claim.taskId)).toEqual([next.id]);
  });

  it('no task is expired or purged while something about it is owed', async (c) => {
    const { outbox, upkeep } = c.storage;
    const run = await c.start(await c.instance(), { at: longAgo, push: webhook('a') });
    accepted(await c.tasks.finish(run.token, [turnEnded('completed')], longAgo, true));
    const { taskId, contextId } = { ...run.token, contextId: run.contextId };
    const owed = only(await claimOf(c.storage, [taskId]));
    expect(await upkeep.expire(longAgo + 1, 100)).toBe(0);
    expect(await upkeep.purge({ owner: c.owner, limit: 100 })).toBe(0);
    expect(await upkeep.purge({ contextId, limit: 100 })).toBe(0);
    await outbox.done(owed.claim, owed.lastSeq, LEASE_MS);
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
    expect(heard).toBe(0);
    await c.admit({ push: webhook('a') });
    await promise;
    expect(heard).toBe(1);
  });
};
