import { setTimeout as delay } from 'node:timers/promises';

import type { Client } from 'pg';
import { describe, expect, it } from 'vitest';

import type { Storage } from '../../packages/sealane/src/store/index.ts';

import { freshSchema } from '../support/fresh-schema.ts';
import {
  admission,
  chunk,
  completed,
  connectBeside,
  open,
  startRun,
  withInstance,
} from '../support/postgres-stores.ts';

describe('appends that wait at the same time', () => {
  it('share commits, and each run gets its own numbers', async () => {
    const storage = await open(freshSchema());
    const instance = await withInstance(storage);
    const runs = await Promise.all(Array.from({ length: 40 }, () => startRun(storage, instance)));
    let commits = 0;
    using _ = storage.onCommit(() => (commits += 1));
    const rounds = await Promise.all(
      [1, 2, 3].flatMap((round) =>
        runs.map(({ token }) => storage.tasks.append(token, [chunk(`${round}`), chunk('.')], Date.now())),
      ),
    );
    expect(rounds.every(({ ok }) => ok)).toBe(true);
    expect(commits).toBeLessThan(20);
    for (const { token } of runs) {
      const events = await storage.tasks.read('all', token.taskId, 2, 100);
      expect(events.map(({ seq }) => seq)).toEqual([3, 4, 5, 6, 7, 8]);
      expect(events.map(({ event }) => event)).toEqual([1, 2, 3].flatMap((round) => [chunk(`${round}`), chunk('.')]));
    }
  });

  it('do not fail for a neighbour that fails', async () => {
    const storage = await open(freshSchema());
    const instance = await withInstance(storage);
    const [good, lost, bad] = await Promise.all([1, 2, 3].map(() => startRun(storage, instance)));
    if (!good || !lost || !bad) throw new Error('unreachable');
    const outcomes = await Promise.allSettled([
      storage.tasks.append(good.token, [chunk('fine')], Date.now()),
      storage.tasks.append({ ...lost.token, epoch: 99 }, [chunk('late')], Date.now()),
      storage.tasks.append({ ...bad.token, task: 0.5 }, [chunk('broken')], Date.now()),
    ]);
    expect(outcomes).toMatchObject([
      { status: 'fulfilled', value: { ok: true } },
      { status: 'fulfilled', value: { ok: false, why: 'lost' } },
      { status: 'rejected' },
    ]);
    expect(await storage.tasks.read('all', good.token.taskId, 2, 10)).toHaveLength(1);
  });
});

describe('races on PostgreSQL', () => {
  it('admit one task when twenty want the same id, or the same idempotency key', async () => {
    const options = freshSchema();
    const [here, there] = [await open(options), await open(options)];
    const same = admission();
    const sameId = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        (n % 2 ? here : there).tasks.admit({ ...same, isIdGiven: true, session: `s${n}` }),
      ),
    );
    expect(sameId.filter(({ ok }) => ok)).toHaveLength(1);
    expect(sameId.filter((result) => !result.ok && result.why === 'conflict')).toHaveLength(19);

    const idempotency = { key: 'k', bodyHash: 'h' };
    const sameKey = await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 ? here : there).tasks.admit(admission({ idempotency }))),
    );
    const admitted = sameKey.map((result) => (result.ok ? result.value : undefined));
    expect(new Set(admitted.map((value) => value?.task.id)).size).toBe(1);
    expect(admitted.filter((value) => value?.again === false)).toHaveLength(1);
  });

  it('number the turn of an answer after all others, also when one was just given elsewhere', async () => {
    const options = freshSchema();
    const storage = await open(options);
    const instance = await withInstance(storage);
    const { token } = await startRun(storage, instance);
    await storage.tasks.finish(token, [{ kind: 'turn-ended', state: 'input-required' }], Date.now(), true);
    const other = await connectBeside(options.url);
    await other.query(`SET search_path TO ${options.schema}; BEGIN; LOCK TABLE lanes`);
    const { message, call, at, limits } = admission();
    const answer = { scope: 'all', id: token.taskId, message, call, at, limits, steerable: false } as const;
    const following = storage.tasks.follow({ ...answer, slot: { instance } });
    await isWaitedFor(other, options.url);
    // It has seen the task and looks for its lane. Meanwhile the task has a second turn, and asks again.
    await other.query('UPDATE tasks SET turns = 2 WHERE k = $1', [token.task]);
    await other.query('COMMIT');
    expect(await following).toMatchObject({ ok: true, value: { run: { turn: 3 } } });
  });

  it('write a whole task anew when it is deleted at the same moment', async () => {
    const options = freshSchema();
    const storage = await open(options);
    const { id, contextId, owner, tenant, agent, at } = admission();
    const snapshot = { state: 'working', statusAt: '', artifacts: [], history: [], metadata: {} } as const;
    const put = { id, contextId, owner, tenant, agent, at, snapshot, mode: 'upsert' } as const;
    await storage.tasks.put(put);
    const other = await connectBeside(options.url);
    await other.query(`SET search_path TO ${options.schema}; BEGIN; SELECT 1 FROM heads FOR UPDATE`);
    const putting = storage.tasks.put(put);
    await isWaitedFor(other, options.url);
    await other.query('DELETE FROM events; DELETE FROM heads; DELETE FROM tasks; COMMIT');
    expect(await putting).toMatchObject({ ok: true, value: { id, seq: 1 } });
  });

  it('leave nothing of a task that is purged while it is written once more', async () => {
    const options = freshSchema();
    const storage = await open(options);
    const { token } = await startRun(storage, await withInstance(storage));
    await storage.tasks.finish(token, [completed], Date.now(), true);
    const other = await connectBeside(options.url);
    await other.query(`SET search_path TO ${options.schema}; BEGIN; UPDATE heads SET seq = seq + 1`);
    const purging = storage.upkeep.purge({ owner: admission().owner, limit: 10 });
    await isWaitedFor(other, options.url);
    await other.query(`INSERT INTO events SELECT task, seq, 0, '{}' FROM heads; COMMIT`);
    expect(await purging).toBe(1);
    expect((await other.query('SELECT 1 FROM events')).rowCount).toBe(0);
  });

  it('of claims give an owner no more runs than the limit, counted over all instances', async () => {
    const options = freshSchema();
    const [here, there] = [await open(options), await open(options)];
    // More lanes than one claim looks at.
    for (let lane = 0; lane < 30; lane += 1) await here.tasks.admit(admission());
    const claimOne = async ({ tasks }: Storage, instance: string): Promise<number> =>
      (await tasks.claim({ instance, free: { echo: 1 }, at: Date.now(), ownerRunning: 1 })).length;
    const [mine, theirs] = [await withInstance(here), await withInstance(there)];
    const other = await connectBeside(options.url);
    await other.query(`SET search_path TO ${options.schema}; BEGIN`);
    await other.query('SELECT 1 FROM heads ORDER BY task LIMIT 1 FOR UPDATE');
    const first = claimOne(here, mine);
    await isWaitedFor(other, options.url);
    // The first has counted and waits for the task it is about to start.
    const second = claimOne(there, theirs);
    await Promise.race([second, delay(200)]);
    await other.query('COMMIT');
    expect([await first, await second]).toEqual([1, 0]);
  });

  it('start again after a deadlock, and nothing is written twice', async () => {
    const options = freshSchema();
    const storage = await open(options);
    const { token } = await startRun(storage, await withInstance(storage));
    const other = await connectBeside(options.url);
    await other.query(`SET search_path TO ${options.schema}; SET deadlock_timeout TO '60s'; BEGIN`);
    await other.query('SELECT 1 FROM heads WHERE task = $1 FOR UPDATE', [token.task]);
    const finished = storage.tasks.finish(token, [completed], Date.now(), true);
    await isWaitedFor(other, options.url);
    // The store holds the lane and waits for the head. Now each waits for the other, and the store is the one to give way.
    await other.query('SELECT 1 FROM lanes WHERE k = $1 FOR UPDATE', [token.lane]);
    await other.query('COMMIT');
    expect(await finished).toMatchObject({ ok: true });
    expect(await storage.tasks.read('all', token.taskId, 2, 10)).toMatchObject([{ seq: 3, event: completed }]);
  });

  it('of two instances over two hundred lanes never give a lane to both, and keep the order of its turns', async () => {
    const options = freshSchema();
    const stores = [await open(options), await open(options)];
    const [first] = stores;
    if (!first) throw new Error('unreachable');
    const LANES = 200;
    const TURNS = 3;
    for (let turn = 0; turn < TURNS; turn += 1) {
      await Promise.all(
        Array.from({ length: LANES }, (_, lane) =>
          first.tasks.admit(admission({ session: `lane ${lane}`, metadata: { turn }, owner: `owner ${lane % 7}` })),
        ),
      );
    }
    const running = new Map<string, string>();
    const started = new Map<string, number[]>();
    const overlaps: string[] = [];
    let finished = 0;
    const work = async (storage: Storage): Promise<void> => {
      const instance = await withInstance(storage);
      while (finished < LANES * TURNS) {
        const claimed = await storage.tasks.claim({ instance, free: { echo: 25 }, at: Date.now(), ownerRunning: 0 });
        await Promise.all(
          claimed.map(async ({ run }) => {
            const holder = running.get(run.session);
            if (holder !== undefined) overlaps.push(`${run.session}: ${holder} and ${instance}`);
            running.set(run.session, instance);
            started.set(run.session, [...(started.get(run.session) ?? []), Number(run.metadata['turn'])]);
            await storage.tasks.append(run.token, [chunk('x')], Date.now());
            running.delete(run.session);
            const ended = await storage.tasks.finish(run.token, [completed], Date.now(), true);
            expect(ended.ok).toBe(true);
            finished += 1;
          }),
        );
      }
    };
    await Promise.all(stores.map(work));
    expect(overlaps).toEqual([]);
    expect(started.size).toBe(LANES);
    for (const turns of started.values()) expect(turns).toEqual([0, 1, 2]);
    expect(await first.upkeep.counts()).toMatchObject({ waiting: 0, running: 0 });
  });
});

/** Resolves when somebody waits for a lock that this connection holds. */
const isWaitedFor = async (client: Client, url: string): Promise<void> => {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const watch = await connectBeside(url);
  const waiting = 'SELECT 1 FROM pg_locks WHERE NOT granted AND $1 = ANY (pg_blocking_pids(pid))';
  await expect.poll(async () => (await watch.query(waiting, [rows[0]?.pid])).rowCount).toBe(1);
};
