import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';

import { freshSchema } from '../support/fresh-schema.ts';
import { admission, connectBeside, open } from '../support/postgres-stores.ts';
import { openService } from '../support/service.ts';

/** Something PostgreSQL refuses to do, and how to let it do it again. */
const refusals: Readonly<Record<string, readonly [refuse: string, allow: string]>> = {
  'a table has been renamed': ['ALTER TABLE events RENAME TO away', 'ALTER TABLE away RENAME TO events'],
  'its disk has an error': [refusing('58030'), 'DROP TRIGGER refuse ON events'],
  'an administrator cancels it': [refusing('57014'), 'DROP TRIGGER refuse ON events'],
  'it has become a replica': [refusing('25006'), 'DROP TRIGGER refuse ON events'],
};

function refusing(code: string): string {
  return `
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION 'not now' USING ERRCODE = '${code}'; END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION refuse()`;
}

describe('what an agent says while PostgreSQL refuses to write', () => {
  it.each(Object.entries(refusals))('is written when that is over: %s', async (_, [refuse, allow]) => {
    const options = freshSchema();
    let said = '';
    const log = pino({ level: 'error' }, { write: (line: string) => (said += line) });
    await using service = await openService({ store: await open(options), log });
    const beside = await connectBeside(options.url);
    await beside.query(`SET search_path TO ${options.schema}`);

    const task = await service.client.submit('@stream 5 100');
    await beside.query(refuse);
    await expect.poll(() => said, { interval: 20 }).toContain('could not be written yet, trying again');
    await beside.query(allow);
    await expect
      .poll(async () => (await service.client.get(task.id)).status.state, { interval: 50 })
      .toBe('TASK_STATE_COMPLETED');
    const { artifacts = [] } = await service.client.get(task.id);
    const text = artifacts.flatMap(({ parts }) => parts.map((part) => part.text)).join('');
    expect(text.match(/chunk \d of 5/g)).toEqual([1, 2, 3, 4, 5].map((n) => `chunk ${n} of 5`));
  });
});

describe('a store that was opened', () => {
  it('behind a pooler that mixes sessions says what to set there', async () => {
    const options = freshSchema();
    const storage = await open(options);
    const beside = await connectBeside(options.url);
    await beside.query(`SET search_path TO ${options.schema}; ${refusing('42P05')}`);
    const refused = storage.tasks.admit(admission());
    await expect(refused).rejects.toMatchObject({ code: 'store-unwritable' });
    await expect(refused).rejects.toThrow(/session mode/);
  });

  it('is not called well when its tables have been dropped', async () => {
    const options = freshSchema();
    const storage = await open(options);
    expect(await storage.upkeep.check()).toBeUndefined();
    const beside = await connectBeside(options.url);
    await beside.query(`DROP SCHEMA ${options.schema} CASCADE`);
    expect(await storage.upkeep.check()).toContain('is missing');
    await expect(storage.tasks.find('all', 'any')).rejects.toMatchObject({ code: 'store-unwritable' });
  });

  it('does with the connections it has when the server has none left', async () => {
    const { url, schema } = freshSchema();
    const role = `role_${schema}`;
    const beside = await connectBeside(url);
    // One for the wakes and one for the pool.
    await beside.query(`CREATE ROLE ${role} LOGIN PASSWORD 'p' CONNECTION LIMIT 2`);
    await beside.query(`CREATE SCHEMA ${schema} AUTHORIZATION ${role}`);
    const theirs = Object.assign(new URL(url), { username: role, password: 'p' });
    const storage = await open({ url: theirs.href, schema });
    onTestFinished(async () => {
      await storage.close();
      await beside.query(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`);
    });
    const admitted = await Promise.all(Array.from({ length: 3 }, () => storage.tasks.admit(admission())));
    expect(admitted.every(({ ok }) => ok)).toBe(true);
    expect(await storage.tasks.renew('me', 6000)).toMatchObject({ ok: true });
  });
});
