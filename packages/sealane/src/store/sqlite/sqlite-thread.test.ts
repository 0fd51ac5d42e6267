import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import type { AuditEvent } from '../storage.ts';
import { admission } from './admission.fixture.ts';
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
  for (const [number, { outcomes }] of answers.entries()) {
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

describe('an admission that is answered when it is written', () => {
  const admitting = async () => {
    const place = freshFile();
    const thread = await startThread({ role: 'writer', file: place.file, synchronous: 'FULL' });
    const seen: string[] = [];
    return {
      place,
      thread,
      seen,
      admit: (id: string) =>
        thread.admit([JSON.stringify(['admit', [admission(id)]])]).then((answer) => {
          seen.push(`${id} written`);
          void answer.durable?.then(() => seen.push(`${id} durable`));
          return answer;
        }),
      find: (id: string) =>
        thread.call([['find', ['all', id]]]).then((answer) => {
          seen.push(`${id} found`);
          return answer;
        }),
      [Symbol.asyncDispose]: async () => {
        await thread.stop();
        place[Symbol.dispose]();
      },
    };
  };

  it('is durable a moment later, without another call', async () => {
    await using own = await admitting();
    const { outcomes, durable } = await own.admit('one');
    expect(outcomes).toMatchObject([{ ok: true, value: { ok: true } }]);
    expect(durable).toBeInstanceOf(Promise);
    await durable;
    expect(own.seen).toEqual(['one written', 'one durable']);
  });

  it('waits for a sync of its own, and not for one that came before it', async () => {
    await using own = await admitting();
    const first = await own.admit('one');
    await first.durable;
    const second = await own.admit('two');
    expect(second.durable).toBeInstanceOf(Promise);
    expect(second.durable).not.toBe(first.durable);
    await second.durable;
  });

  it.runIf(process.platform === 'linux')(
    'is refused when neither the redo log nor the database can be written any more',
    // The thread syncs a millisecond later: on a busy machine that may be over before the files are closed.
    { retry: 20 },
    () => {
      using place = freshFile();
      const program = `
      import { closeSync, readdirSync, readlinkSync } from 'node:fs';
      import { startThread } from '#store/sqlite/sqlite-thread';
      const file = process.argv[1];
      const thread = await startThread({ role: 'writer', file, synchronous: 'FULL' });
      const admit = (id) => thread.admit([JSON.stringify(['admit', [{ ...${JSON.stringify(admission('one'))}, id, session: id }]])]);
      const isOurs = (fd) => {
        try {
          return /\\.(redo|db-wal)$/.test(readlinkSync('/proc/self/fd/' + fd));
        } catch {
          return false;
        }
      };
      const close = () => readdirSync('/proc/self/fd').filter(isOurs).forEach((fd) => closeSync(Number(fd)));
      // Until all of this takes less time than the thread waits for company.
      for (let number = 0; number < 100; number += 1) {
        readdirSync('/proc/self/fd').filter(isOurs);
        await (await admit('before' + number)).durable;
      }
      const { durable } = await admit('one');
      // Its thread is in this process: what is closed here is closed there.
      close();
      const fate = await durable.then(() => 'durable', (error) => error.constructor.name);
      console.log(JSON.stringify({ fate }));
      process.exit();`;
      const found = execFileSync(
        process.execPath,
        [
          '--conditions=sealane:source',
          '--disable-warning=ExperimentalWarning',
          '--input-type=module',
          '-e',
          program,
          place.file,
        ],
        { encoding: 'utf8', cwd: fileURLToPath(new URL('../..', import.meta.url)) },
      );
      expect(JSON.parse(found)).toEqual({ fate: expect.stringMatching(/Error$/) });
    },
  );

  it('is durable before anybody else hears of it, or of anything that came after it', async () => {
    await using own = await admitting();
    const [, found] = await Promise.all([own.admit('one'), own.find('one'), own.admit('two'), own.find('two')]);
    expect(found.outcomes).toMatchObject([{ ok: true, value: { id: 'one' } }]);
    expect(own.seen.indexOf('one durable')).toBeLessThan(own.seen.indexOf('one found'));
    expect(own.seen.toSorted()).toEqual(
      ['one', 'two'].flatMap((id) => [`${id} durable`, `${id} found`, `${id} written`]).toSorted(),
    );
  });

  it('is durable when the thread is asked for something special, and when it stops', async () => {
    await using own = await admitting();
    const [{ durable }] = await Promise.all([own.admit('one'), own.thread.call([['flush', []]])]);
    await durable;
    const last = own.admit('two');
    await own.thread.stop();
    await (
      await last
    ).durable;
    await using storage = await openSqlite(own.place);
    expect(await storage.tasks.find('all', 'two')).toMatchObject({ id: 'two' });
  });

  it('gets its own answer among many, whatever is between them', async () => {
    await using own = await admitting();
    const ids = [...Array(300).keys()].map((number) => `t${number}`);
    const answers = await Promise.all(ids.flatMap((id) => [own.admit(id), own.find(id)]));
    for (const [index, { outcomes }] of answers.entries()) {
      expect(outcomes).toHaveLength(1);
      const [outcome] = outcomes;
      if (index % 2 === 1) expect(outcome).toMatchObject({ value: { id: ids[(index - 1) / 2] } });
      else expect(outcome).toMatchObject({ value: { ok: true, value: { again: false } } });
    }
    for (const { durable } of answers) await durable;
  });

  it('of a thread that dies never becomes durable', async () => {
    await using own = await admitting();
    const [written] = await Promise.allSettled([own.admit('one'), own.thread.call([null as never])]);
    const durable = written.status === 'fulfilled' ? written.value.durable : Promise.reject(new Error('refused'));
    await expect(durable).rejects.toThrow();
  });
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
  const thread = await startThread(options, () => (texts += 1));
  await thread.call([['addKey', [{ ...key('k'), name: 'x'.repeat(3_000_000) }]]]);
  texts = 0;
  // Text ends at half a gigabyte, and a thread that cannot answer is lost: 512 calls could ask for more.
  const large = thread.call(Array.from({ length: 9 }, () => findKey('hash-k')));
  const behind = thread.call([findKey('nobody'), findKey('hash-k')]);
  const found = { ok: true, value: { id: 'k' } };
  expect((await large).outcomes).toMatchObject(Array.from({ length: 9 }, () => found));
  expect((await behind).outcomes).toMatchObject([{ ok: true }, found]);
  expect(texts).toBeGreaterThan(3);
  await thread.stop();
});
