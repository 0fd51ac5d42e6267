import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';

import type { Storage } from '#store';
import { openSqlite } from '#store/sqlite/index';

import { createKeys, type Keys, type KeysOptions } from './keys.ts';

let folder: string;
let storage: Storage;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sealane-keys-'));
  storage = await openSqlite({ file: join(folder, 'tasks.db') });
});
afterAll(async () => {
  await storage.close();
  await rm(folder, { recursive: true, force: true });
});

const instance = (more: Partial<KeysOptions> = {}) =>
  createKeys({ keys: storage.keys, audit: storage.audit, now: Date.now, ...more });

const bearer = (secret: string): string => `Bearer ${secret}`;

describe('API keys', () => {
  it('lets the holder of a new key in as its owner, guarded by default', async () => {
    const keys = instance();
    const { secret, record } = await keys.create({ name: 'alice' }, 'admin');
    expect(secret).toMatch(/^sl_[\w-]{32}$/);
    expect(await keys.authenticate(bearer(secret))).toEqual({
      owner: 'alice',
      keyId: record.id,
      admin: false,
      agents: null,
      permission: 'guarded',
      tenant: '',
      ratePerMinute: null,
    });
  });

  it('stores no secret, only its hash', async () => {
    const keys = instance();
    const { secret } = await keys.create({ name: 'hashed' }, 'admin');
    expect(JSON.stringify(await keys.list())).not.toContain(secret);
    expect(JSON.stringify(await storage.audit.list({ limit: 100 }))).not.toContain(secret);
  });

  it('refuses a revoked key at once here, and within five seconds elsewhere', async () => {
    let now = Date.now();
    const here = instance();
    const elsewhere = instance({ now: () => now });
    const { secret } = await here.create({ name: 'bob' }, 'admin');
    expect(await here.authenticate(bearer(secret))).toBeDefined();
    expect(await elsewhere.authenticate(bearer(secret))).toBeDefined();
    expect(await here.revoke('bob', 'admin')).toBe(true);
    expect(await here.authenticate(bearer(secret))).toBeUndefined();
    now += 5000;
    expect(await elsewhere.authenticate(bearer(secret))).toBeUndefined();
  });

  it('tells who watches a key of its end: of a revocation here at once, of others within five seconds', async () => {
    let now = Date.now();
    const here = instance();
    const elsewhere = instance({ now: () => now });
    const { secret } = await here.create({ name: 'watched' }, 'admin');
    const brief = await here.create({ name: 'watched-briefly', expiresInMs: 60_000 }, 'admin');
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const ended: string[] = [];
    const endOf = (keys: Keys, key: string, name: string): Promise<void> => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const watching = keys.watch(bearer(key), () => {
        ended.push(name);
        watching[Symbol.dispose]();
        resolve();
      });
      return promise;
    };
    const ends = [endOf(here, secret, 'here'), endOf(elsewhere, secret, 'elsewhere')];
    const expired = endOf(elsewhere, brief.secret, 'expired');
    await here.revoke('watched', 'admin');
    await ends[0];
    expect(ended).toEqual(['here']);
    now += 5000;
    vi.advanceTimersByTime(5000);
    await ends[1];
    expect(ended).toEqual(['here', 'elsewhere']);
    now += 60_000;
    vi.advanceTimersByTime(5000);
    await expired;
    expect(ended).toEqual(['here', 'elsewhere', 'expired']);
  });

  it('does not let a lookup that began before a revocation bring the key back', async () => {
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
    const keys = instance({
      keys: {
        ...storage.keys,
        add: (key) => storage.keys.add(key),
        revoke: (id, at) => storage.keys.revoke(id, at),
        findByHash: async (hash) => {
          const found = await storage.keys.findByHash(hash);
          await held;
          return found;
        },
      },
    });
    const { secret } = await keys.create({ name: 'racer' }, 'admin');
    const early = keys.authenticate(bearer(secret));
    await keys.revoke('racer', 'admin');
    letGo();
    await early;
    expect(await keys.authenticate(bearer(secret))).toBeUndefined();
  });

  it('refuses a key from the moment it expires, though it was just used', async () => {
    let now = Date.now();
    const keys = instance({ now: () => now });
    const { secret } = await keys.create({ name: 'brief', expiresInMs: 1000 }, 'admin');
    expect(await keys.authenticate(bearer(secret))).toBeDefined();
    now += 1000;
    expect(await keys.authenticate(bearer(secret))).toBeUndefined();
  });

  it('knows a key that was made right after it had been refused', async () => {
    const random = (bytes: number) => Buffer.alloc(bytes, 7);
    const keys = instance({ random });
    const secret = `sl_${random(24).toString('base64url')}`;
    expect(await keys.authenticate(bearer(secret))).toBeUndefined();
    await keys.create({ name: 'late' }, 'admin');
    expect(await keys.authenticate(bearer(secret))).toBeDefined();
  });

  it("takes the operator's own key, which is in no store and has no rate", async () => {
    const keys = instance({ adminKey: 'my own words' });
    expect(await keys.authenticate('bearer my own words')).toMatchObject({
      owner: 'admin',
      admin: true,
      permission: 'agent-default',
      ratePerMinute: Infinity,
    });
    expect(await keys.authenticate('Bearer my own word')).toBeUndefined();
  });

  it.each(['x'.repeat(1018), ' key', 'key\n'])(
    'refuses a key of the operator that no call could bring (%#)',
    (adminKey) => {
      expect(() => instance({ adminKey })).toThrow(/admin key .* at most 1017 characters/);
      const given = [{ name: 'given', owner: 'ann', secret: adminKey }];
      expect(() => instance({ given })).toThrow(/key "given" .* at most 1017 characters/);
    },
  );

  it('takes keys that somebody else keeps, without the rights of an operator', async () => {
    const hermes = { name: 'hermes-given', owner: 'peer:hermes', secret: 'token of hermes' };
    const keys = instance({
      given: [hermes, { name: 'greedy', owner: 'peer:greedy', secret: 'another', permission: 'agent-default' }],
    });
    expect(await keys.authenticate('Bearer token of hermes')).toMatchObject({
      owner: 'peer:hermes',
      admin: false,
      permission: 'guarded',
    });
    expect(await keys.authenticate('Bearer another')).toMatchObject({ permission: 'guarded' });
    expect(await keys.authenticate('Bearer token of Hermes')).toBeUndefined();
    expect((await keys.list()).map(({ name }) => name)).not.toContain('hermes-given');
    expect(() => instance({ given: [{ ...hermes, secret: '' }] })).toThrow('"hermes-given" has no secret');
  });

  it('lets the configuration narrow a key by its name', async () => {
    const overrides = () => ({ agents: ['main'], ratePerMinute: 30, permission: 'read-only' as const });
    const keys = instance({ overrides });
    const { secret } = await keys.create({ name: 'hermes' }, 'admin');
    expect(await keys.authenticate(bearer(secret))).toMatchObject({
      agents: ['main'],
      ratePerMinute: 30,
      permission: 'read-only',
    });
  });

  it("gives the agent's own rights to the operator's keys alone, whatever the configuration says", async () => {
    const keys = instance({ overrides: () => ({ permission: 'agent-default' as const }) });
    await expect(keys.create({ name: 'guest', permission: 'agent-default' }, 'admin')).rejects.toMatchObject({
      code: 'invalid-params',
      facts: { field: 'permission' },
    });
    const guest = await keys.create({ name: 'guest' }, 'admin');
    expect(await keys.authenticate(bearer(guest.secret))).toMatchObject({ permission: 'guarded' });
    const own = await keys.create({ name: 'laptop', owner: 'admin', permission: 'agent-default' }, 'admin');
    expect(await keys.authenticate(bearer(own.secret))).toMatchObject({ permission: 'agent-default' });
  });

  it('refuses a name twice, and names that mean something else', async () => {
    const keys = instance();
    await keys.create({ name: 'once' }, 'admin');
    await expect(keys.create({ name: 'once' }, 'admin')).rejects.toMatchObject({ code: 'conflict' });
    for (const name of ['admin', 'key_abc', '', 'a b', 'x'.repeat(65)]) {
      await expect(keys.create({ name }, 'admin')).rejects.toMatchObject({ code: 'invalid-params' });
    }
  });

  it('refuses an end so far away that it is no date', async () => {
    const keys = instance();
    const expiresInMs = 281_000 * 365 * 86_400_000;
    await expect(keys.create({ name: 'eternal', expiresInMs }, 'admin')).rejects.toMatchObject({
      code: 'invalid-params',
      message: expect.stringContaining('at most 100 years'),
    });
  });

  it('records who made and revoked a key, and who was refused', async () => {
    const keys = instance();
    const { record } = await keys.create({ name: 'traced' }, 'root');
    await keys.revoke(record.id, 'root');
    await keys.authenticate('Bearer sl_wrong');
    await expect
      .poll(() => storage.audit.list({ kind: 'refused-key', limit: 1 }))
      .toMatchObject([{ facts: { why: 'unknown' } }]);
    const kinds = (await storage.audit.list({ subject: record.id, limit: 10 })).map(
      ({ kind, actor }) => `${kind} ${actor}`,
    );
    expect(kinds).toEqual(['key-revoked root', 'key-created root']);
  });

  it('records that a key was used, once a day, and each time that it was used for what it does not allow', async () => {
    let day = 1;
    const keys = createKeys({ keys: storage.keys, audit: storage.audit, now: () => Date.UTC(2031, 0, day) });
    const { record, secret } = await keys.create({ name: 'in-use' }, 'root');
    for (; day <= 3; day += 1) {
      keys.forget();
      await keys.authenticate(`Bearer ${secret}`);
      keys.forget();
      await keys.authenticate(`Bearer ${secret}`);
    }
    keys.noteForbidden(record.id);
    const kinds = async () => (await storage.audit.list({ subject: record.id, limit: 10 })).map(({ kind }) => kind);
    await expect.poll(kinds).toEqual(['refused-key', 'key-used', 'key-used', 'key-used', 'key-created']);
  });

  it('records guesses at a bounded rate, and counts the rest', async () => {
    let recorded = 0;
    let now = 0;
    const facts: unknown[] = [];
    const audit = {
      ...storage.audit,
      record: async (event: { facts: unknown }) => {
        recorded += 1;
        facts.push(event.facts);
      },
    };
    const keys = instance({ audit, now: () => now });
    for (let guess = 0; guess < 200; guess += 1) await keys.authenticate(bearer(`sl_guess-${guess}`));
    expect(recorded).toBe(10);
    now += 60_000;
    await keys.authenticate(bearer('sl_last-guess'));
    expect(facts.at(-1)).toMatchObject({ omitted: 190 });
  });

  it('answers undefined to any header that is not a key, and never throws', async () => {
    const keys = instance({ adminKey: 'k' });
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.string(),
          fc.string().map((text) => `Bearer ${text}x`),
        ),
        async (header) => {
          expect(await keys.authenticate(header)).toBeUndefined();
        },
      ),
      { numRuns: 50 },
    );
    expect(await keys.authenticate(undefined)).toBeUndefined();
  });
});
