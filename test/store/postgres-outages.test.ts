import { describe, expect, it } from 'vitest';

import type { TaskId } from '../../packages/sealane/src/store/index.ts';

import { startCuttingProxy } from '../support/cutting-proxy.ts';
import { freshSchema } from '../support/fresh-schema.ts';
import { startOwnPostgres } from '../support/postgres.ts';
import {
  admission,
  chunk,
  completed,
  connectBeside,
  firstWake,
  open,
  startRun,
  withInstance,
} from '../support/postgres-stores.ts';

describe('wakes between instances on PostgreSQL', () => {
  it('reach the other instance with the ids, and not the one that has committed', async () => {
    const options = freshSchema();
    const [here, there] = [await open(options), await open(options)];
    const heardHere: TaskId[] = [];
    using _ = here.tasks.onWake((ids) => heardHere.push(...ids));
    const one = admission();
    const two = admission();
    const arrival = firstWake(there, (ids) => ids.length > 0);
    const back = firstWake(here, (ids) => ids.length > 0);
    await here.tasks.admit(one);
    expect(await arrival).toEqual([one.id]);
    // When this has come back, an echo of the first would have come before.
    await there.tasks.admit(two);
    expect(await back).toEqual([two.id]);
    expect(heardHere).toEqual([two.id]);
  });

  it('say without an id that some lane is ready, here before the call is answered, and elsewhere', async () => {
    const options = freshSchema();
    const [here, there] = [await open(options), await open(options)];
    let heardHere = 0;
    using _ = here.tasks.onWake((ids) => (heardHere += ids.length === 0 ? 1 : 0));
    const arrival = firstWake(there, (ids) => ids.length === 0);
    await here.tasks.admit(admission());
    expect(heardHere).toBe(1);
    expect(await arrival).toEqual([]);
  });

  it('tell of more tasks than one notification holds', async () => {
    const options = freshSchema();
    const [here, there] = [await open(options), await open(options)];
    const instance = await withInstance(here);
    const runs = await Promise.all(Array.from({ length: 400 }, () => startRun(here, instance)));
    const missing = new Set(runs.map(({ token }) => token.taskId));
    const all = new Promise<void>((resolve) => {
      there.tasks.onWake((ids) => {
        for (const id of ids) missing.delete(id);
        if (missing.size === 0) resolve();
      });
    });
    await Promise.all(runs.map(({ token }) => here.tasks.append(token, [chunk('x')], Date.now())));
    await all;
  });

  it('are done without where LISTEN does not work', async () => {
    const options = freshSchema();
    await using proxy = await startCuttingProxy(options.url);
    proxy.judge((sent) => (sent.includes('LISTEN') ? 'cut-before' : 'pass'));
    const storage = await open({ ...options, url: proxy.url });
    const heard = firstWake(storage, (ids) => ids.length === 0);
    expect(await storage.tasks.admit(admission())).toMatchObject({ ok: true });
    expect(await heard).toEqual([]);
    await storage.close();
  });
});

describe('when the line to PostgreSQL breaks', () => {
  it('before a commit, the step is done again and the caller notices nothing', async () => {
    const options = freshSchema();
    await using proxy = await startCuttingProxy(options.url);
    const storage = await open({ ...options, url: proxy.url });
    const run = await startRun(storage, await withInstance(storage));
    let cuts = 0;
    proxy.judge((sent) => (sent.includes('BEGIN') && (cuts += 1) <= 2 ? 'cut-after' : 'pass'));
    expect(await storage.tasks.append(run.token, [chunk('once')], Date.now())).toMatchObject({ ok: true });
    expect(cuts).toBeGreaterThan(2);
    expect(await storage.tasks.read('all', run.token.taskId, 2, 10)).toHaveLength(1);
    await storage.close();
  });

  it('during a commit, the database is asked what became of it: the caller gets its answer, and nothing is written twice', async () => {
    const options = freshSchema();
    await using proxy = await startCuttingProxy(options.url);
    const storage = await open({ ...options, url: proxy.url });
    const instance = await withInstance(storage);
    const runs = [await startRun(storage, instance), await startRun(storage, instance)];
    proxy.judge((sent) => (sent.includes('COMMIT\0') ? 'cut-after' : 'pass'));
    const outcomes = await Promise.allSettled(
      runs.map(({ token }) => storage.tasks.append(token, [chunk('once')], Date.now())),
    );
    for (const outcome of outcomes) expect(outcome).toMatchObject({ status: 'fulfilled', value: { ok: true } });
    proxy.judge(() => 'pass');
    for (const { token } of runs) {
      await expect.poll(() => storage.tasks.read('all', token.taskId, 2, 10)).toHaveLength(1);
    }
    await storage.close();
  });

  it('during a commit and for long, what a run said waits for the answer, and is not written twice', async () => {
    const options = freshSchema();
    await using proxy = await startCuttingProxy(options.url);
    const storage = await open({ ...options, url: proxy.url, fateMs: 50 });
    const run = await startRun(storage, await withInstance(storage));
    let cuts = 0;
    proxy.judge((sent) => {
      if (cuts === 0 && !sent.includes('COMMIT\0')) return 'pass';
      cuts += 1;
      return cuts === 1 ? 'cut-after' : 'cut-before';
    });
    const appending = storage.tasks.append(run.token, [chunk('once')], Date.now());
    await expect.poll(() => cuts).toBeGreaterThan(5);
    proxy.judge(() => 'pass');
    expect(await appending).toMatchObject({ ok: true });
    expect(await storage.tasks.read('all', run.token.taskId, 2, 10)).toHaveLength(1);
    await storage.close();
  });

  it('by an administrator who ends every connection, the store goes on and listeners are told to look again', async () => {
    const { url, schema } = freshSchema();
    const named = new URL(url);
    named.searchParams.set('application_name', schema);
    const storage = await open({ url: named.href, schema });
    const instance = await withInstance(storage);
    const run = await startRun(storage, instance);
    const lookAgain = firstWake(storage, (ids) => ids.length === 0);
    const client = await connectBeside(url);
    const { rowCount } = await client.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1',
      [schema],
    );
    expect(rowCount).toBeGreaterThan(1);
    expect(await storage.tasks.append(run.token, [chunk('x')], Date.now())).toMatchObject({ ok: true });
    expect(await storage.tasks.finish(run.token, [completed], Date.now(), true)).toMatchObject({ ok: true });
    await lookAgain;
  });

  it('because another instance has changed a table, the store prepares its statements anew', async () => {
    const options = freshSchema();
    const storage = await open(options);
    const one = admission();
    await storage.tasks.admit(one);
    const find = (): Promise<unknown> => storage.tasks.find('all', one.id);
    await Promise.all(Array.from({ length: 20 }, find));
    const beside = await connectBeside(options.url);
    await beside.query(`ALTER TABLE ${options.schema}.tasks ADD COLUMN later TEXT`);
    for (const found of await Promise.all(Array.from({ length: 20 }, find)))
      expect(found).toMatchObject({ id: one.id });
  });

  it('by a crash of the server, calls say so until it is back; then they work, and so do wakes', async () => {
    const server = await startOwnPostgres();
    try {
      const [here, there] = [await open({ url: server.url }), await open({ url: server.url })];
      const run = await startRun(here, await withInstance(here));
      await server.crash();
      await expect(here.tasks.append(run.token, [chunk('lost')], Date.now())).rejects.toMatchObject({
        code: 'unavailable',
      });
      await expect(here.tasks.find('all', run.token.taskId)).rejects.toMatchObject({ code: 'unavailable' });
      expect(await here.upkeep.check()).toContain('does not answer');
      const lookAgain = [here, there].map((storage) => firstWake(storage, (ids) => ids.length === 0));
      await server.start();
      expect(await here.tasks.append(run.token, [chunk('kept')], Date.now())).toMatchObject({ ok: true });
      expect(await here.tasks.read('all', run.token.taskId, 2, 10)).toMatchObject([{ seq: 3, event: chunk('kept') }]);
      expect(await here.upkeep.check()).toBeUndefined();
      await Promise.all(lookAgain);
      const arrival = firstWake(there, (ids) => ids.includes(run.token.taskId));
      await here.tasks.finish(run.token, [completed], Date.now(), true);
      await arrival;
      await Promise.all([here.close(), there.close()]);
    } finally {
      await server.stop();
    }
  });
});
