import { connect, createServer, type Socket } from 'node:net';

import { escapeIdentifier } from 'pg';
import { describe, expect, inject, it, onTestFinished } from 'vitest';

import { SealaneError } from '../../packages/sealane/src/domain/index.ts';
import { openPostgres, type PostgresStoreOptions } from '../../packages/sealane/src/store/postgres/index.ts';
import { MIGRATIONS } from '../../packages/sealane/src/store/schema.sql.ts';

import { freshSchema } from '../support/fresh-schema.ts';
import { listenBefore } from '../support/listen-before.ts';
import { admission, chunk, connectBeside, open, startRun, withInstance } from '../support/postgres-stores.ts';

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
    const client = await connectBeside(options.url);
    const { rows } = await client.query(`SELECT version FROM ${escapeIdentifier(options.schema)}.schema_version`);
    expect(rows.map((row) => Number(row.version))).toEqual(MIGRATIONS.map((_, index) => index + 1));
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
    const client = await connectBeside(options.url);
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
    const client = await connectBeside(options.url);
    const schema = escapeIdentifier(options.schema);
    await client.query(`CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.tasks (theirs TEXT)`);
    expect(await refusal(options)).toMatchObject({
      code: 'store-damaged',
      message: expect.stringContaining('another program'),
    });
    const { rows } = await client.query('SELECT tablename FROM pg_tables WHERE schemaname = $1', [options.schema]);
    expect(rows).toEqual([{ tablename: 'tasks' }]);
  });

  it.each([
    ['a wrong password', 'store-unwritable', 'password', { password: 'wr0ng-secret' }],
    ['a missing database', 'store-unwritable', 'CREATE DATABASE', { pathname: '/nowhere' }],
    ['a server that is not there', 'unavailable', 'Check that the server runs', { port: '1' }],
    [
      'a read-only server',
      'store-unwritable',
      'replica',
      { search: '?options=-c%20default_transaction_read_only%3Don' },
    ],
  ])('says what to do about %s, and never the password', async (_, code, advice, change) => {
    const url = Object.assign(new URL(inject('postgresUrl')), change);
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
    expect(await refusal({ url: inject('postgresUrl'), schema: 'Robert"); DROP' })).toMatchObject({
      code: 'bad-config',
    });
  });
});

describe('closing PostgreSQL', () => {
  it('does not wait for a server that has fallen silent', async () => {
    const { url, schema } = freshSchema();
    const { hostname, port } = new URL(url);
    const lines: Socket[] = [];
    const proxy = createServer((client) => {
      const server = connect(Number(port), hostname);
      lines.push(
        client.on('error', () => {}),
        server.on('error', () => {}),
      );
      client.pipe(server).pipe(client);
    });
    onTestFinished(() => {
      for (const line of lines) line.destroy();
      proxy.close();
    });
    const storage = await openPostgres({ url: await listenBefore(url, proxy), schema, closeMs: 100 });
    await storage.tasks.find('all', 'any');
    for (const line of lines) line.unpipe().pause();
    const unanswered = expect(storage.tasks.find('all', 'any')).rejects.toMatchObject({ code: 'unavailable' });
    await storage.close();
    await unanswered;
  }, 10_000);

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
    const client = await connectBeside(url);
    await expect
      .poll(
        async () =>
          (await client.query('SELECT pid FROM pg_stat_activity WHERE application_name = $1', [schema])).rowCount,
      )
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
    await expect(storage.tasks.admit(admission({ contextId: 'a\u0000b' }))).rejects.toMatchObject({
      code: 'invalid-params',
    });
  });

  it('takes two thousand chunks in one append', async () => {
    const storage = await open(freshSchema());
    const run = await startRun(storage, await withInstance(storage));
    const appended = await storage.tasks.append(
      run.token,
      Array.from({ length: 2000 }, (_, n) => chunk(`${n} `)),
      Date.now(),
    );
    expect(appended.ok && appended.value.events.at(-1)?.seq).toBe(2002);
    const page = await storage.tasks.read('all', run.token.taskId, 1997, 3);
    expect(page.map(({ seq }) => seq)).toEqual([1998, 1999, 2000]);
  });
});
