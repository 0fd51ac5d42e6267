import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import type { AuditEvent } from '../storage.ts';
import { openSqlite } from './index.ts';
import { startThread } from './sqlite-thread.ts';

const freshFile = (): { readonly file: string } & Disposable => {
  const folder = mkdtempSync(join(tmpdir(), 'sealane-thread-'));
  return {
    file: join(folder, 'sealane.db'),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
};

const event = (subject: string): AuditEvent => ({ at: 1, kind: 'test', actor: 'test', subject, facts: {} });
const record = (subject: string) => ['record', [event(subject)]] as const;
const findKey = (hash: string) => ['findKey', [hash]] as const;
const key = (name: string) => ({
  id: name,
  name,
  owner: name,
  hash: `hash-${name}`,
  admin: false,
  agents: null,
  permission: 'write',
  ratePerMinute: null,
  createdAt: 1,
  expiresAt: null,
  revokedAt: null,
});

it('requests that the thread takes together get their own answers, whatever is among them', async () => {
  using place = freshFile();
  const thread = await startThread({ role: 'writer', file: place.file, synchronous: 'FULL' });
  const asked = [...Array(200).keys()].map((number) => {
    const name = `k${number}`;
    if (number % 7 === 3) return thread.call([['flush', []]]);
    if (number % 11 === 5) return thread.call([findKey(`hash-${name}`), ['no such step', []], findKey('nobody')]);
    return thread.call([['addKey', [key(name)]], findKey(`hash-${name}`)]);
  });
  const answers = await Promise.all(asked);
  for (const [number, outcomes] of answers.entries()) {
    const expected =
      number % 7 === 3
        ? [{ ok: true }]
        : number % 11 === 5
          ? [{ ok: true }, { ok: false }, { ok: true }]
          : [
              { ok: true, value: 'added' },
              { ok: true, value: { name: `k${number}` } },
            ];
    expect(outcomes).toHaveLength(expected.length);
    expect(outcomes).toMatchObject(expected);
  }
  await thread.stop();
});

it('what is asked before closing is answered and kept', async () => {
  using place = freshFile();
  const first = await openSqlite(place);
  const written = Promise.all([...Array(100).keys()].map((number) => first.audit.record(event(`s${number}`))));
  await new Promise(setImmediate);
  await Promise.all([first.close(), written]);
  const second = await openSqlite(place);
  expect(await second.audit.list({ limit: 1000 })).toHaveLength(100);
  await second.close();
});

it('what is asked after closing is refused, and never answered as if it had been done', async () => {
  using place = freshFile();
  const storage = await openSqlite(place);
  const closed = storage.close();
  const late = storage.audit.record(event('late'));
  await expect(late).rejects.toThrow(/closed/);
  await closed;
});

it('when the thread dies, nobody waits forever, and what it had answered is there', async () => {
  using place = freshFile();
  const thread = await startThread({ role: 'writer', file: place.file, synchronous: 'FULL' });
  await thread.call([record('answered')]);
  // No request of ours looks like this one, and none is expected to.
  const last = await Promise.allSettled([thread.call([null as never]), thread.call([record('perhaps')])]);
  expect(last.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await expect(thread.call([record('too late')])).rejects.toThrow();
  await thread.stop();
  const storage = await openSqlite(place);
  const [oldest] = (await storage.audit.list({ limit: 10 })).toReversed();
  expect(oldest).toMatchObject({ subject: 'answered' });
  await storage.close();
});

it('a long answer comes in several texts, each request gets all of its own, and those behind it theirs', async () => {
  using place = freshFile();
  let texts = 0;
  const options = { role: 'writer', file: place.file, synchronous: 'FULL' } as const;
  const thread = await startThread(options, { onReply: () => (texts += 1) });
  await thread.call([['addKey', [{ ...key('k'), name: 'x'.repeat(3_000_000) }]]]);
  texts = 0;
  // Text ends at half a gigabyte, and a thread that cannot answer is lost: 512 calls could ask for more.
  const large = thread.call(Array.from({ length: 9 }, () => findKey('hash-k')));
  const behind = thread.call([findKey('nobody'), findKey('hash-k')]);
  const found = { ok: true, value: { id: 'k' } };
  expect(await large).toMatchObject(Array.from({ length: 9 }, () => found));
  expect(await behind).toMatchObject([{ ok: true }, found]);
  expect(texts).toBeGreaterThan(3);
  await thread.stop();
});
