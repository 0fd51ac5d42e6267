import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { startCuttingProxy } from '../support/cutting-proxy.ts';
import { type OwnPostgres, startOwnPostgres } from '../support/postgres.ts';
import { admission, connectBeside, open, withInstance } from '../support/postgres-stores.ts';

describe('when PostgreSQL crashes during a commit', () => {
  let server: OwnPostgres;
  beforeAll(async () => {
    server = await startOwnPostgres();
  });
  afterAll(() => server.stop());

  it.each([
    ['is given to somebody else afterwards', 20],
    ['is not given again', 0],
  ])('a task is stored before it is answered for, when its transaction number %s', async (_how, others) => {
    await using proxy = await startCuttingProxy(server.url);
    const storage = await open({ url: proxy.url });
    const before = await connectBeside(server.url);
    before.on('error', () => {});
    // What is not committed must not reach the disk by itself.
    await before.query("ALTER SYSTEM SET wal_writer_delay = '10s'");
    await before.query('SELECT pg_reload_conf()');

    const one = admission({ slot: { instance: await withInstance(storage) } });
    let lost: () => void;
    const isLost = new Promise<void>((resolve) => (lost = resolve));
    proxy.judge((sent) => {
      if (sent.includes('COMMIT\0')) {
        lost();
        proxy.judge(() => 'cut-before');
      }
      return sent.includes('COMMIT\0') ? 'cut-before' : 'pass';
    });
    const admitted = storage.tasks.admit(one);
    admitted.catch(() => {});
    await isLost;
    await server.crash();
    await server.start();
    const after = await connectBeside(server.url);
    after.on('error', () => {});
    for (let n = 0; n < others; n += 1) await after.query('SELECT pg_current_xact_id()');
    proxy.judge(() => 'pass');

    expect(await admitted).toMatchObject({ ok: true });
    expect(await storage.tasks.find('all', one.id)).toMatchObject({ id: one.id, state: 'working' });
    await Promise.all([storage.close(), after.end()]);
  });
});
