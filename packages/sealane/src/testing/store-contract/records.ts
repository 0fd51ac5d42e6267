import type { KeyRecord } from '#store';

import type { Corner } from './contract-corner.ts';
import type { Suite } from './suite.ts';

const keyRecord = (c: Corner, word: string, over: Partial<KeyRecord> = {}): KeyRecord => ({
  id: c.name(`${word}-id`),
  name: c.name(word),
  owner: c.owner,
  hash: c.name(`${word}-hash`),
  admin: false,
  agents: [c.agent, 'another "one"'],
  permission: 'guarded',
  ratePerMinute: 30,
  createdAt: c.later(),
  expiresAt: c.later(),
  revokedAt: null,
  ...over,
});

export const describeRecords = ({ it, expect }: Suite): void => {
  it('keeps the keys that sign cards, one in use at a time', async (c) => {
    const { cardKeys } = c.storage;
    const keyOf = (kid: string) => ({
      kid: c.name(kid),
      privateJwk: '{"kty":"EC"}',
      createdAt: c.later(),
      retiredAt: null,
    });
    const before = (await cardKeys.list()).find(({ retiredAt }) => retiredAt === null)?.kid ?? null;
    const [first, second, third] = [keyOf('first'), keyOf('second'), keyOf('third')];
    expect(await cardKeys.replace(before, first, c.later())).toBe('replaced');
    // Of two who replace the same key only one is right, and a key in use is not overlooked.
    const outcomes = await Promise.all([
      cardKeys.replace(first.kid, second, c.later()),
      cardKeys.replace(first.kid, third, c.later()),
      cardKeys.replace(null, keyOf('fourth'), c.later()),
    ]);
    expect(outcomes.toSorted()).toEqual(['lost', 'lost', 'replaced']);
    const inUse = (await cardKeys.list()).filter(({ retiredAt }) => retiredAt === null);
    expect(inUse).toEqual([outcomes[0] === 'replaced' ? second : third]);
    await cardKeys.forget(c.later());
    expect(await cardKeys.list()).toEqual(inUse);
  });

  it('a key is found by its hash, as it was added', async (c) => {
    const { keys } = c.storage;
    const limited = keyRecord(c, 'limited');
    const free = keyRecord(c, 'free', { admin: true, agents: null, ratePerMinute: null, expiresAt: null });
    for (const key of [limited, free]) {
      expect(await keys.add(key)).toBe('added');
      expect(await keys.findByHash(key.hash)).toEqual(key);
    }
    expect(await keys.findByHash(c.name('unknown'))).toBe(undefined);
    expect((await keys.list()).filter(({ owner }) => owner === c.owner)).toEqual([limited, free]);
  });

  it('`name-taken`: a name is given once, and what it names stays as it is', async (c) => {
    const { keys } = c.storage;
    const first = keyRecord(c, 'same');
    await keys.add(first);
    const second = keyRecord(c, 'same', { id: c.name('second-id'), hash: c.name('second-hash') });
    expect(await keys.add(second)).toBe('name-taken');
    expect(await keys.findByHash(second.hash)).toBe(undefined);
    expect(await keys.findByHash(first.hash)).toEqual(first);
  });

  it('a key is revoked once, by id or name, and stays known as revoked', async (c) => {
    const { keys } = c.storage;
    const [byName, byId] = [keyRecord(c, 'by-name'), keyRecord(c, 'by-id')];
    for (const key of [byName, byId]) await keys.add(key);
    const at = c.later();
    expect(await keys.revoke(byName.name, at)).toBe(true);
    expect(await keys.revoke(byId.id, at)).toBe(true);
    for (const key of [byName, byId]) {
      expect(await keys.findByHash(key.hash)).toMatchObject({ id: key.id, revokedAt: at });
      expect(await keys.revoke(key.id, c.later())).toBe(false);
      expect(await keys.revoke(key.name, c.later())).toBe(false);
    }
    expect(await keys.revoke(c.name('unknown'), c.later())).toBe(false);
  });

  it('a revoked key gives its name back', async (c) => {
    const { keys } = c.storage;
    const first = keyRecord(c, 'same');
    await keys.add(first);
    await keys.revoke(first.name, c.later());
    const second = keyRecord(c, 'same', { id: c.name('second-id'), hash: c.name('second-hash') });
    expect(await keys.add(second)).toBe('added');
    expect(await keys.revoke(second.name, c.later())).toBe(true);
    expect(await keys.findByHash(second.hash)).toMatchObject({ id: second.id });
  });

  it('the audit is listed newest first, by subject and by kind', async (c) => {
    const { audit } = c.storage;
    const record = async (kind: string, subject: string) => {
      const event = {
        at: c.later(),
        kind: c.name(kind),
        actor: 'alice',
        subject: c.name(subject),
        facts: { 'a "b"': [1] },
      };
      await audit.record(event);
      return event;
    };
    const one = await record('made', 'x');
    const two = await record('made', 'y');
    const three = await record('deleted', 'x');
    expect(await audit.list({ kind: c.name('made'), limit: 9 })).toEqual([two, one]);
    expect(await audit.list({ subject: c.name('x'), limit: 9 })).toEqual([three, one]);
    expect(await audit.list({ subject: c.name('x'), kind: c.name('made'), limit: 9 })).toEqual([one]);
    expect(await audit.list({ subject: c.name('x'), limit: 1 })).toEqual([three]);
    expect((await audit.list({ limit: 3 })).map(({ at }) => at)).toEqual([three.at, two.at, one.at]);
  });
};
