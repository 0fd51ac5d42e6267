import { randomUUID } from 'node:crypto';

import { Client, escapeIdentifier } from 'pg';
import { afterEach, describe, expect, inject, it } from 'vitest';

import { type NewEvent, SealaneError } from '../../packages/sealane/src/domain/index.ts';
import type { Admission, Run, Storage, TaskId } from '../../packages/sealane/src/store/index.ts';
import { openPostgres, type PostgresStoreOptions } from '../../packages/sealane/src/store/postgres/index.ts';
import { startCuttingProxy } from '../support/cutting-proxy.ts';
import { freshSchema } from '../support/fresh-schema.ts';
import { startOwnPostgres } from '../support/postgres.ts';

const opened: Storage[] = [];
const open = async (options: PostgresStoreOptions): Promise<Storage> => {
  const storage = await openPostgres(options);
  opened.push(storage);
  return storage;
};
afterEach(async () => {
  for (const storage of opened.splice(0)) await storage.close();
});

const admin = async (url: string): Promise<Client & AsyncDisposable> => {
  const client = new Client(url);
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
};

const admission = (more: Partial<Admission> = {}): Admission => {
  const id = randomUUID();
  return {
    id,
    contextId: id,
    owner: 'ann',
    tenant: '',
    agent: 'echo',
    dialect: '1.0',
    session: `session ${id}`,
    direct: false,
    message: { messageId: `m-${id}`, role: 'ROLE_USER', parts: [{ text: 'hello' }] },
    metadata: {},
    call: {},
    at: Date.now(),
    limits: { laneWaiting: 100, ownerWaiting: 0 },
    ...more,
  };
};

/** A run that has started at once. */
const startRun = async ({ tasks }: Storage, instance: string, more: Partial<Admission> = {}): Promise<Run> => {
  const admitted = await tasks.admit(admission({ slot: { instance }, ...more }));
  if (!admitted.ok || !admitted.value.run) throw new Error(`It did not start: ${JSON.stringify(admitted)}`);
  return admitted.value.run;
};

const withInstance = async ({ tasks }: Storage): Promise<string> => {
  const instance = randomUUID();
  await tasks.renew(instance, 60_000);
  return instance;
};

const chunk = (text: string): NewEvent => ({ kind: 'artifact-added', artifact: { artifactId: 'a', parts: [{ text }] }, append: true });
const completed: NewEvent = { kind: 'turn-ended', state: 'completed' };

const refusal = async (options: PostgresStoreOptions): Promise<SealaneError> => {
  const error = await open(options).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof SealaneError)) throw new Error(`Not refused with a SealaneError: ${String(error)}`);
  return error;
};

describe('opening PostgreSQL', () => {
  it('makes its tables in an empty database and finds its tasks again when opened anew', async () => {
    const options = freshSchema();
    const first = await open(options);
    const one = admission();
    await first.tasks.admit(one);
    await first.close();
    const second = await open(options);
    expect(await second.tasks.find('all', one.id)).toMatchObject({ id: one.id, state: 'submitted', seq: 1 });
  });

  it('lets instances that start at the same moment find one set of tables', async () => {
    const options = freshSchema();
    const stores = await Promise.all([open(options), open(options), open(options)]);
    await using client = await admin(options.url);
    const { rows } = await client.query(`SELECT version FROM ${escapeIdentifier(options.schema)}.schema_version`);
    expect(rows).toHaveLength(1);
    const one = admission();
    await stores[0]?.tasks.admit(one);
    expect(await stores[2]?.tasks.find('all', one.id)).toBeDefined();
  });

  it('names the place without its credentials', async () => {
    const { description } = await open(freshSchema());
    const { hostname, port } = new URL(inject('postgresUrl'));
    expect(description).toBe(`PostgreSQL, ${hostname}:${port}/postgres`);
  });

  it('refuses the schema of a newer version and changes nothing', async () => {
    const options = freshSchema();
    await (await open(options)).close();
    await using client = await admin(options.url);
    const table = `${escapeIdentifier(options.schema)}.schema_version`;
    await client.query(`INSERT INTO ${table} (version, migrated_at) VALUES (9000, 0)`);
    const error = await refusal(options);
    expect(error.code).toBe('store-newer');
    expect(error.message).toContain('written by a newer Sealane (schema 9000');
    const { rows } = await client.query(`SELECT max(version) AS version FROM ${table}`);
    expect(rows).toEqual([{ version: '9000' }]);
  });

  it('leaves the tables of another program alone', async () => {
    const options = freshSchema();
    await using client = await admin(options.url);
    const schema = escapeIdentifier(options.schema);
    await client.query(`CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.tasks (theirs TEXT)`);
    expect(await refusal(options)).toMatchObject({ code: 'store-damaged', message: expect.stringContaining('another program') });
    const { rows } = await client.query('SELECT tablename FROM pg_tables WHERE schemaname = $1', [options.schema]);
    expect(rows).toEqual([{ tablename: 'tasks' }]);
  });

  it.each([
    ['a wrong password', 'store-unwritable', 'password', (url: URL) => (url.password = 'wr0ng-secret')],
    ['a missing database', 'store-unwritable', 'CREATE DATABASE', (url: URL) => (url.pathname = '/nowhere')],
    ['a server that is not there', 'unavailable', 'Check that the server runs', (url: URL) => (url.port = '1')],
    ['a read-only server', 'store-unwritable', 'replica', (url: URL) => (url.search = '?options=-c%20default_transaction_read_only%3Don')],
  ] as const)('says what to do about %s, and never the password', async (_, code, advice, change) => {
    const url = new URL(inject('postgresUrl'));
    change(url);
    const error = await refusal({ url: url.href, schema: freshSchema().schema });
    expect(error.code).toBe(code);
    expect(error.message).toContain(advice);
    for (const secret of [url.password, decodeURIComponent(url.password)]) expect(error.message).not.toContain(secret);
  });

  it('says what an address looks like when it gets something else', async () => {
    expect(await refusal({ url: 'postgres://ann:s3cret@[nonsense' })).toMatchObject({
      code: 'bad-config',
      message: expect.not.stringContaining('s3cret'),
    });
    expect(await refusal({ url: inject('postgresUrl'), schema: 'Robert"); DROP' })).toMatchObject({ code: 'bad-config' });
  });
});

describe('closing PostgreSQL', () => {
  it('waits for the calls under way, refuses later ones, and leaves no connection behind', async () => {
    const { url, schema } = freshSchema();
    const named = new URL(url);
    named.searchParams.set('application_name', schema);
    const storage = await open({ url: named.href, schema });
    const admissions = Array.from({ length: 20 }, () => admission());
    const underWay = admissions.map((one) => storage.tasks.admit(one));
    await storage.close();
    expect((await Promise.all(underWay)).map(({ ok }) => ok)).not.toContain(false);
    await expect(storage.tasks.find('all', 'x')).rejects.toMatchObject({ code: 'unavailable' });
    await using client = await admin(url);
    await expect
      .poll(async () => (await client.query('SELECT pid FROM pg_stat_activity WHERE application_name = $1', [schema])).rowCount)
      .toBe(0);
  });
});

describe('what PostgreSQL keeps', () => {
  it('is what was given, in every script, with quotes, backslashes, NUL and halves of characters', async () => {
    const storage = await open(freshSchema());
    const instance = await withInstance(storage);
    const text = 'Ünïcode 漢字 🦭 עברית {"a":"\\b"} \\u0000 \u0000 \ud83e {1,2} \'; -- NULL';
    const run = await startRun(storage, instance, {
      message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text }] },
      metadata: { [text]: [text, null, 1.5] },
    });
    const events = [chunk(text), chunk(''), chunk('{}'), chunk('NULL'), chunk('"')];
    await storage.tasks.append(run.token, events, Date.now());
    const read = await storage.tasks.read('all', run.token.taskId, 2, 100);
    expect(read.map(({ event }) => event)).toEqual(events);
    const task = await storage.tasks.find('all', run.token.taskId);
    expect(JSON.parse(task?.history ?? '')).toEqual([{ messageId: 'm', role: 'ROLE_USER', parts: [{ text }] }]);
    expect(JSON.parse(task?.metadata ?? '')).toEqual({ [text]: [text, null, 1.5] });
  });

  it('never includes NUL in a name: the caller is told to leave it out', async () => {
    const storage = await open(freshSchema());
    await expect(storage.tasks.admit(admission({ contextId: 'a\u0000b' }))).rejects.toMatchObject({ code: 'invalid-params' });
  });

  it('takes two thousand chunks in one append', async () => {
    const storage = await open(freshSchema());
    const run = await startRun(storage, await withInstance(storage));
    const appended = await storage.tasks.append(run.token, Array.from({ length: 2000 }, (_, n) => chunk(`${n} `)), Date.now());
    expect(appended.ok && appended.value.events.at(-1)?.seq).toBe(2002);
    const page = await storage.tasks.read('all', run.token.taskId, 1997, 3);
    expect(page.map(({ seq }) => seq)).toEqual([1998, 1999, 2000]);
  });
});

describe('appends that wait at the same time', () => {
  it('share commits, and each run gets its own numbers', async () => {
    const storage = await open(freshSchema());
    const instance = await withInstance(storage);
    const runs = await Promise.all(Array.from({ length: 40 }, () => startRun(storage, instance)));
    let commits = 0;
    using _ = storage.onCommit(() => (commits += 1));
    const rounds = await Promise.all(
      [1, 2, 3].flatMap((round) => runs.map(({ token }) => storage.tasks.append(token, [chunk(`${round}`), chunk('.')], Date.now()))),
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
    const sameId = await Promise.all(Array.from({ length: 20 }, (_, n) => (n % 2 ? here : there).tasks.admit({ ...same, session: `s${n}` })));
    expect(sameId.filter(({ ok }) => ok)).toHaveLength(1);
    expect(sameId.filter((result) => !result.ok && result.why === 'conflict')).toHaveLength(19);

    const idempotency = { key: 'k', bodyHash: 'h' };
    const sameKey = await Promise.all(Array.from({ length: 20 }, (_, n) => (n % 2 ? here : there).tasks.admit(admission({ idempotency }))));
    const admitted = sameKey.map((result) => (result.ok ? result.value : undefined));
    expect(new Set(admitted.map((value) => value?.task.id)).size).toBe(1);
    expect(admitted.filter((value) => value?.again === false)).toHaveLength(1);
  });

  it('start again after a deadlock, and nothing is written twice', async () => {
    const options = freshSchema();
    const storage = await open(options);
    const instance = await withInstance(storage);
    const runs = [await startRun(storage, instance), await startRun(storage, instance)];
    const [low, high] = runs.map(({ token }) => token).sort((a, b) => a.task - b.task);
    if (!low || !high) throw new Error('unreachable');
    await using other = await admin(options.url);
    await other.query(`SET search_path TO ${escapeIdentifier(options.schema)}; SET deadlock_timeout TO '60s'; BEGIN`);
    await other.query('SELECT 1 FROM heads WHERE task = $1 FOR UPDATE', [high.task]);
    const appends = runs.map(({ token }) => storage.tasks.append(token, [chunk('x')], Date.now()));
    await using watch = await admin(options.url);
    await expect
      .poll(async () => (await watch.query(`SELECT 1 FROM pg_locks WHERE NOT granted AND $1 = ANY (pg_blocking_pids(pid))`, [await pidOf(other)])).rowCount)
      .toBe(1);
    // Now each waits for the other; the store is the one that gives way.
    await other.query('SELECT 1 FROM heads WHERE task = $1 FOR UPDATE', [low.task]);
    await other.query('COMMIT');
    expect((await Promise.all(appends)).map(({ ok }) => ok)).toEqual([true, true]);
    for (const { token } of runs) expect(await storage.tasks.read('all', token.taskId, 2, 10)).toHaveLength(1);
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
        Array.from({ length: LANES }, (_, lane) => first.tasks.admit(admission({ session: `lane ${lane}`, metadata: { turn }, owner: `owner ${lane % 7}` }))),
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

const pidOf = async (client: Client): Promise<number> => (await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid ?? 0;

describe('wakes between instances on PostgreSQL', () => {
  it('reach the other instance with the ids, and the own listeners at once and only once', async () => {
    const options = freshSchema();
    const [here, there] = [await open(options), await open(options)];
    const heardHere: TaskId[] = [];
    using _ = here.tasks.onWake((ids) => heardHere.push(...ids));
    const arrival = firstWake(there, (ids) => ids.length > 0);
    const one = admission();
    const answered = here.tasks.admit(one);
    await answered;
    expect(heardHere).toEqual([one.id]);
    expect(await arrival).toEqual([one.id]);
    // The other way round: when this has arrived, an echo of the first would have, too.
    const back = firstWake(here, (ids) => ids.includes(two.id));
    const two = admission();
    await there.tasks.admit(two);
    await back;
    expect(heardHere).toEqual([one.id, two.id]);
  });

  it('say "some lane" without an id when a lane becomes ready', async () => {
    const options = freshSchema();
    const [here, there] = [await open(options), await open(options)];
    const arrival = firstWake(there, (ids) => ids.length === 0);
    await here.tasks.admit(admission());
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
    const heard = firstWake(storage, (ids) => ids.length > 0);
    const one = admission();
    await storage.tasks.admit(one);
    expect(await heard).toEqual([one.id]);
    await storage.close();
  });
});

const firstWake = ({ tasks }: Storage, wanted: (ids: readonly TaskId[]) => boolean): Promise<readonly TaskId[]> =>
  new Promise((resolve) => {
    const subscription = tasks.onWake((ids) => {
      if (!wanted(ids)) return;
      subscription[Symbol.dispose]();
      resolve(ids);
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

  it('during a commit, the caller is told that the outcome is unknown, and the step is not repeated', async () => {
    const options = freshSchema();
    await using proxy = await startCuttingProxy(options.url);
    const storage = await open({ ...options, url: proxy.url });
    const instance = await withInstance(storage);
    const runs = [await startRun(storage, instance), await startRun(storage, instance)];
    proxy.judge((sent) => (sent.includes('COMMIT') ? 'cut-after' : 'pass'));
    const outcomes = await Promise.allSettled(runs.map(({ token }) => storage.tasks.append(token, [chunk('once')], Date.now())));
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'unavailable', facts: { outcome: 'unknown' } } });
    }
    proxy.judge(() => 'pass');
    for (const { token } of runs) {
      await expect.poll(() => storage.tasks.read('all', token.taskId, 2, 10)).toHaveLength(1);
    }
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
    await using client = await admin(url);
    const { rowCount } = await client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1', [schema]);
    expect(rowCount).toBeGreaterThan(1);
    expect(await storage.tasks.append(run.token, [chunk('x')], Date.now())).toMatchObject({ ok: true });
    expect(await storage.tasks.finish(run.token, [completed], Date.now(), true)).toMatchObject({ ok: true });
    await lookAgain;
  });

  it('by a crash of the server, calls say so until it is back; then they work, and so do wakes', async () => {
    const server = await startOwnPostgres();
    try {
      const [here, there] = [await open({ url: server.url }), await open({ url: server.url })];
      const run = await startRun(here, await withInstance(here));
      await server.crash();
      await expect(here.tasks.append(run.token, [chunk('lost')], Date.now())).rejects.toMatchObject({ code: 'unavailable' });
      await expect(here.tasks.find('all', run.token.taskId)).rejects.toMatchObject({ code: 'unavailable' });
      expect(await here.upkeep.check()).toContain('does not answer');
      const lookAgain = [here, there].map((storage) => firstWake(storage, (ids) => ids.length === 0));
      await server.start();
      expect(await here.tasks.append(run.token, [chunk('kept')], Date.now())).toMatchObject({ ok: true });
      expect(await here.tasks.read('all', run.token.taskId, 2, 10)).toMatchObject([{ seq: 3, event: chunk('kept') }]);
      expect(await here.upkeep.check()).toBe('ok');
      await Promise.all(lookAgain);
      const arrival = firstWake(there, (ids) => ids.includes(run.token.taskId));
      await here.tasks.finish(run.token, [completed], Date.now(), true);
      await arrival;
      for (const storage of opened.splice(0)) await storage.close();
    } finally {
      await server.stop();
    }
  });
});
