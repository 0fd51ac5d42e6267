import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { escapeIdentifier } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';

import type { Storage } from '../../packages/sealane/src/store/index.ts';
import { inPostgresSchema } from '../../packages/sealane/src/store/postgres/dialect.ts';
import { CLOCK } from '../../packages/sealane/src/store/postgres/migrate.ts';
import { openSqlite } from '../../packages/sealane/src/store/sqlite/index.ts';
import { APPLICATION_ID, inSqlite } from '../../packages/sealane/src/store/sqlite/sqlite-database.ts';

import { FIRST_SCHEMA } from '../support/first-schema.ts';
import { freshSchema } from '../support/fresh-schema.ts';
import { connectBeside, open } from '../support/postgres-stores.ts';

/** The run is taken over, its lane goes on with the turn that waited, and that one runs. */
const goOn = async ({ tasks, upkeep, outbox, pushConfigs }: Storage): Promise<void> => {
  expect(await upkeep.counts()).toEqual({ waiting: 1, running: 1, oldestWaitingSince: 2 });
  await tasks.renew('me', 60_000);
  const look = { kind: 'webhook', instance: 'me', limit: 9, leaseMs: 60_000 } as const;
  const [owed, ...more] = await outbox.claim(look);
  if (!owed || more.length > 0) throw new Error(`${more.length + (owed ? 1 : 0)} webhooks are owed something.`);
  expect(owed.ranges).toMatchObject([{ firstSeq: 1, lastSeq: 1, attempts: 2 }]);
  expect(await pushConfigs.at(owed.claim.target)).toEqual({
    taskId: 'waits',
    id: 'owed',
    config: { url: 'https://owed.example' },
    status: 'active',
  });
  const handled = owed.ranges.map(({ follower }) => ({ follower, upTo: 1 }));
  expect(await outbox.advance(owed.claim, handled, 60_000)).toMatchObject({ ok: true });
  const [taken, ...others] = await tasks.reap('me', 10);
  expect(others).toEqual([]);
  if (!taken) throw new Error('Nothing was taken over.');
  expect(taken.run).toMatchObject({
    token: { taskId: 'runs', task: 1, lane: 1, epoch: 2 },
    message: { parts: [{ text: 'runs' }] },
    call: { permission: 'ask' },
    queuedAt: 1,
    startedAt: 5,
    attempt: 1,
  });
  const end = { kind: 'turn-ended', state: 'completed' } as const;
  expect(await tasks.finish(taken.run.token, [end], 11, true)).toMatchObject({ ok: true });
  const [next] = await tasks.claim({ instance: 'me', free: { echo: 1 }, at: 12, ownerRunning: 0 });
  expect(next?.run).toMatchObject({ token: { taskId: 'waits' }, message: { parts: [{ text: 'waits' }] }, attempt: 1 });
  if (next) expect(await tasks.finish(next.run.token, [end], 13, true)).toMatchObject({ ok: true });
  // Both webhooks hear of what came after the migration.
  expect((await outbox.claim(look)).flatMap(({ ranges }) => ranges)).toMatchObject([
    { firstSeq: 2, lastSeq: 3 },
    { firstSeq: 2, lastSeq: 3 },
  ]);
  expect(await upkeep.counts()).toEqual({ waiting: 0, running: 0, oldestWaitingSince: null });
  expect(await tasks.find('all', 'ended')).toMatchObject({ state: 'completed' });
};

describe('what the first version of the tables contains', () => {
  it('goes on with SQLite', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sealane-first-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, 'sealane.db');
    const database = new DatabaseSync(file);
    for (const statement of FIRST_SCHEMA) database.exec(inSqlite(statement));
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = 1`);
    database.close();
    await using storage = await openSqlite({ file });
    await goOn(storage);
  });

  const firstInPostgres = async () => {
    const options = freshSchema();
    const client = await connectBeside(options.url);
    await client.query(`CREATE SCHEMA ${escapeIdentifier(options.schema)}`);
    await client.query(`SET search_path TO ${escapeIdentifier(options.schema)}`);
    await client.query(CLOCK);
    await client.query('CREATE TABLE schema_version (version BIGINT PRIMARY KEY, migrated_at BIGINT NOT NULL)');
    await client.query('INSERT INTO schema_version VALUES (1, 0)');
    for (const statement of FIRST_SCHEMA) await client.query(inPostgresSchema(statement));
    return { options, client };
  };

  it('goes on with PostgreSQL', async () => {
    const { options } = await firstInPostgres();
    await goOn(await open(options));
  });

  it('is not changed beside an instance of that version, which would fail then', async () => {
    const { options, client } = await firstInPostgres();
    await client.query("INSERT INTO instances VALUES ('earlier', now_ms() + 60000), ('gone too', now_ms() - 1)");
    await expect(open(options)).rejects.toThrow(
      /used by 1 running instance of an earlier version.*Stop all instances/s,
    );
    const { rows } = await client.query('SELECT max(version)::INT AS version FROM schema_version');
    expect(rows).toEqual([{ version: 1 }]);
    await client.query("UPDATE instances SET lease_until = -1 WHERE id = 'earlier'");
    await goOn(await open(options));
  });
});
