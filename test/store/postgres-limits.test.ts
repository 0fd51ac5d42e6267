import { describe, expect, it } from 'vitest';

import { startCuttingProxy } from '../support/cutting-proxy.ts';
import { freshSchema } from '../support/fresh-schema.ts';
import { admission, completed, connectBeside, open, startRun, withInstance } from '../support/postgres-stores.ts';

/** A database as an administrator may have set it up for people who ask it questions. */
const strictSchema = (): { readonly url: string; readonly schema: string } => {
  const { url, schema } = freshSchema();
  const settings = [
    'lock_timeout=1',
    'statement_timeout=50',
    'idle_in_transaction_session_timeout=1',
    'default_transaction_isolation=serializable',
  ];
  const strict = new URL(url);
  strict.searchParams.set('options', settings.map((setting) => `-c ${setting}`).join(' '));
  return { url: strict.href.replaceAll('+', '%20'), schema };
};

describe('limits that PostgreSQL has for its users', () => {
  it('do not keep instances from starting at the same moment', async () => {
    const options = strictSchema();
    const stores = await Promise.all(Array.from({ length: 5 }, () => open(options)));
    const one = admission();
    await stores[0]?.tasks.admit(one);
    for (const { tasks } of stores) expect(await tasks.find('all', one.id)).toMatchObject({ id: one.id });
  });

  it('do not keep a step from waiting for a row that somebody else holds', async () => {
    const options = strictSchema();
    const storage = await open(options);
    const run = await startRun(storage, await withInstance(storage));
    const beside = await connectBeside(freshSchema().url);
    await beside.query('BEGIN');
    await beside.query(`SELECT 1 FROM ${options.schema}.lanes FOR UPDATE`);
    const finished = storage.tasks.finish(run.token, [completed], Date.now(), true);
    await expect.poll(async () => (await beside.query(WAITING)).rowCount, { interval: 20 }).toBeGreaterThan(0);
    // Longer than any of the limits.
    await beside.query('SELECT pg_sleep(0.2)');
    await beside.query('COMMIT');
    expect(await finished).toMatchObject({ ok: true });
  });

  it('are lifted by statements: a connection begins with nothing that a pooler would refuse', async () => {
    const options = freshSchema();
    await using proxy = await startCuttingProxy(options.url);
    const named = new Set<string>();
    proxy.judge((sent) => {
      // A startup message: its length, the version of the protocol, then names and values.
      if (sent.startsWith('\0\x03\0\0', 4)) {
        const words = sent.slice(8).split('\0');
        for (let at = 0; words[at]; at += 2) named.add(words[at] ?? '');
      }
      return 'pass';
    });
    const storage = await open({ ...options, url: proxy.url });
    expect(await storage.tasks.admit(admission())).toMatchObject({ ok: true });
    expect([...named].sort()).toEqual(['application_name', 'client_encoding', 'database', 'user']);
    await storage.close();
  });
});

const WAITING = `
  SELECT 1 FROM pg_locks JOIN pg_stat_activity USING (pid)
  WHERE NOT granted AND application_name = 'sealane'`;
