import { closeSync, copyFileSync, existsSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

import { describe, expect, it } from 'vitest';

import { all, type Param, sql, type Steps } from '../steps/step.ts';
import { add, copyOf, kindsIn, newFile, openWriter } from './crashed-writer.fixture.ts';
import { openSqlite } from './index.ts';
import { redoFileOf } from './redo-file.ts';
import { ownRedo, redoAndCommit } from './redo.ts';
import { openForWriting } from './sqlite-database.ts';

const CHANGE = sql<{ facts: string }>(`UPDATE audit SET facts = facts || ? WHERE k = ? RETURNING facts`);
const ANY = sql('INSERT INTO anything (value) VALUES (?)');

function* addAll(...kinds: readonly string[]): Steps<void> {
  for (const kind of kinds) yield* add(kind);
}

const rowsIn = (file: string, text: string): readonly unknown[] => {
  using database = new DatabaseSync(file);
  return database.prepare(text).all();
};
const afterKill = (file: string): readonly string[] => kindsIn(copyOf(file));
/** What the database has by itself. */
const withoutRedo = (file: string): readonly string[] => kindsIn(copyOf(file, ['', '-wal']));

/** Where the records of a log begin, and behind the last of them. */
const positionsIn = (file: string): readonly number[] => {
  const bytes = readFileSync(redoFileOf(file));
  const positions = [512];
  for (let at = 512; at + 16 <= bytes.length && bytes.readUInt32LE(at) > 0; positions.push(at))
    at += 16 + bytes.readUInt32LE(at);
  return positions;
};

const overwrite = (file: string, position: number, bytes: Buffer): void => {
  const fd = openSync(file, 'r+');
  writeSync(fd, bytes, 0, bytes.length, position);
  closeSync(fd);
};

describe('after a crash', () => {
  it('what was answered and not committed is done again, in its order', () => {
    using opened = openWriter();
    for (const kind of ['a', 'b', 'c']) opened.perform(addAll(kind, `${kind}${kind}`));
    const changed = opened.perform(all(CHANGE, 'more', 2));
    expect(changed).toEqual([{ facts: 'more' }]);
    const expected = ['a', 'aa', 'b', 'bb', 'c', 'cc'];
    expect(withoutRedo(opened.file)).toEqual([]);
    const copy = copyOf(opened.file);
    expect(kindsIn(copy)).toEqual(expected);
    expect(rowsIn(copy, "SELECT k FROM audit WHERE facts = 'more'")).toEqual([{ k: 2 }]);
    // And once only, however often it is opened.
    expect(kindsIn(copy)).toEqual(expected);
    expect(kindsIn(copyOf(copy))).toEqual(expected);
  });

  it('in the middle of doing it again, it is done again once more', () => {
    using opened = openWriter();
    opened.perform(addAll('a', 'b'));
    const copy = copyOf(opened.file);
    const database = openForWriting({ file: copy, synchronous: 'FULL' }, { now: 0 });
    const [before, after] = [copyOf(copy), copyOf(copy)];
    database.close();
    // The log was not begun anew yet, and it is of no account that it had been committed.
    expect(kindsIn(before)).toEqual(['a', 'b']);
    rmSync(redoFileOf(after));
    expect(kindsIn(after)).toEqual(['a', 'b']);
  });

  it('the times are those of the first time', () => {
    using opened = openWriter();
    opened.perform(add('a'));
    opened.perform(addAll('b', 'c'));
    const text = 'SELECT kind, at FROM audit ORDER BY k';
    const before = opened.database.prepare(text).all();
    const copy = copyOf(opened.file);
    openForWriting({ file: copy, synchronous: 'FULL' }, { now: 0 }).close();
    expect(rowsIn(copy, text)).toEqual(before);
  });

  it('every value is what it was', () => {
    using opened = openWriter();
    opened.database.exec('CREATE TABLE anything (value)');
    const values: readonly Param[] = [
      null,
      '',
      'Grüße, 世界, 👩‍👩‍👧‍👦, \u2028 \u0000 \u001F "quoted" \\ \' end',
      'half a pair \uD83D and the other \uDC69',
      '\uFEFFmarked',
      0,
      -1,
      0.1,
      1e300,
      5e-324,
      Number.MAX_SAFE_INTEGER,
      Number.MIN_SAFE_INTEGER,
      '\u{1F600}'.repeat(500_000),
    ];
    for (const value of values) opened.perform(all(ANY, value));
    const text = 'SELECT typeof(value) AS type, value, hex(value) AS bytes FROM anything ORDER BY rowid';
    const before = opened.database.prepare(text).all();
    expect(before).toHaveLength(values.length);
    expect(opened.database.isTransaction).toBe(true);
    const copy = copyOf(opened.file);
    openForWriting({ file: copy, synchronous: 'FULL' }, { now: 0 }).close();
    // Compared by hand: of a difference in two megabytes nobody wants to see a picture.
    expect(JSON.stringify(rowsIn(copy, text)) === JSON.stringify(before)).toBe(true);
  });
});

describe('a damaged record ends what is done again:', () => {
  const broken = (damage: (file: string, positions: readonly number[]) => void): readonly string[] => {
    using opened = openWriter();
    for (const kind of ['a', 'b', 'c', 'd']) opened.perform(add(kind));
    const copy = copyOf(opened.file);
    damage(redoFileOf(copy), positionsIn(copy));
    return kindsIn(copy);
  };
  const flip = (file: string, position: number): void => {
    const byte = readFileSync(file)[position] ?? 0;
    overwrite(file, position, Buffer.of(byte ^ 0x10));
  };

  it.each([
    ['its length', 0],
    ['its checksum', 5],
    ['its number', 8],
    ['its text', 30],
  ])('a flipped bit in %s', (_name, offset) => {
    expect(broken((file, positions) => flip(file, (positions[2] ?? 0) + offset))).toEqual(['a', 'b']);
  });

  it.each([1, 8, 16, 17, 40])('a record that was cut off after %i bytes', (bytes) => {
    const cut = (file: string, positions: readonly number[]): void => {
      const whole = readFileSync(file);
      writeFileSync(file, whole.subarray(0, (positions[2] ?? 0) + bytes));
    };
    expect(broken(cut)).toEqual(['a', 'b']);
    const wiped = (file: string, positions: readonly number[]): void =>
      overwrite(file, (positions[2] ?? 0) + bytes, Buffer.alloc(100_000));
    expect(broken(wiped)).toEqual(['a', 'b']);
  });

  it('a length that points far away', () => {
    const far = Buffer.alloc(4, 0xff);
    expect(broken((file, positions) => overwrite(file, positions[2] ?? 0, far))).toEqual(['a', 'b']);
  });
});

describe('what is not for this database is never done:', () => {
  it('records of earlier rounds', () => {
    using opened = openWriter();
    // Records of the same length, so that the later ones end where an earlier one begins.
    opened.perform(add('a1'));
    opened.perform(add('b1'));
    opened.perform(add('c1'));
    opened.writer.flush();
    expect(afterKill(opened.file)).toEqual(['a1', 'b1', 'c1']);
    opened.perform(add('d1'));
    expect(positionsIn(opened.file)).toHaveLength(4);
    expect(afterKill(opened.file)).toEqual(['a1', 'b1', 'c1', 'd1']);
    opened.perform(add('e1'));
    opened.perform(add('f1'));
    opened.perform(add('g1'));
    expect(afterKill(opened.file)).toEqual(['a1', 'b1', 'c1', 'd1', 'e1', 'f1', 'g1']);
    opened.writer.flush();
    expect(afterKill(opened.file)).toEqual(['a1', 'b1', 'c1', 'd1', 'e1', 'f1', 'g1']);
  });

  it('records of an earlier start', () => {
    const file = newFile();
    let earlier = '';
    {
      using opened = openWriter(file);
      opened.perform(add('a'));
      earlier = copyOf(file);
    }
    using _later = openWriter(file);
    copyFileSync(redoFileOf(earlier), redoFileOf(file));
    expect(afterKill(file)).toEqual(['a']);
  });

  it('a log that goes on from a later state than the database has, and it is kept with a word about it', () => {
    using opened = openWriter();
    opened.perform(add('in both'));
    opened.writer.flush();
    opened.database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    opened.perform(add('in the log of SQLite'));
    opened.writer.flush();
    opened.perform(add('in the redo log'));
    expect(afterKill(opened.file)).toEqual(['in both', 'in the log of SQLite', 'in the redo log']);
    const copy = copyOf(opened.file, ['', '.redo']);
    const log = readFileSync(redoFileOf(copy));
    const notices: string[] = [];
    openForWriting({ file: copy, synchronous: 'FULL' }, { now: 0 }, (text) => notices.push(text)).close();
    expect(notices).toEqual([expect.stringMatching(/later state.*-wal.* is kept as /)]);
    const [, kept = ''] = /is kept as (.*?)\. /.exec(notices[0] ?? '') ?? [];
    expect(readFileSync(kept).equals(log)).toBe(true);
    expect(kindsIn(copy)).toEqual(['in both']);
  });

  it('the log of another database', () => {
    using one = openWriter();
    using other = openWriter();
    one.perform(add('one'));
    other.perform(add('other'));
    const copy = copyOf(one.file);
    copyFileSync(redoFileOf(other.file), redoFileOf(copy));
    expect(kindsIn(copy)).toEqual([]);
    const database = new DatabaseSync(copyOf(one.file));
    redoAndCommit(database, other.file);
    expect(database.prepare('SELECT kind FROM audit').all()).toEqual([]);
    database.close();
  });

  it('the log of the original, for a copy that a backup made', () => {
    using opened = openWriter();
    opened.perform(add('a'));
    opened.writer.flush();
    const [plain, owned] = [newFile(), newFile()];
    for (const target of [plain, owned]) opened.database.prepare('VACUUM INTO ?').run(target);
    {
      using copy = new DatabaseSync(owned);
      ownRedo(copy, '');
    }
    opened.perform(add('after the copy'));
    for (const target of [plain, owned]) copyFileSync(redoFileOf(opened.file), redoFileOf(target));
    expect(kindsIn(plain)).toEqual(['a', 'after the copy']);
    expect(kindsIn(owned)).toEqual(['a']);
  });
});

describe('a log without room', () => {
  it.each([
    ['letters', 'x'.repeat(5_000_000)],
    ['letters of several bytes', '世'.repeat(1_500_000)],
  ])('for a batch that is larger than the file commits it at once (%s)', (_name, large) => {
    using opened = openWriter();
    opened.perform(add('before'));
    opened.perform(add('large', large));
    expect(opened.database.isTransaction).toBe(false);
    expect(withoutRedo(opened.file)).toEqual(['before', 'large']);
    expect(afterKill(opened.file)).toEqual(['before', 'large']);
    opened.perform(add('after'));
    expect(withoutRedo(opened.file)).toEqual(['before', 'large']);
    expect(afterKill(opened.file)).toEqual(['before', 'large', 'after']);
  });

  it('because it is full begins anew', () => {
    using opened = openWriter();
    const expected: string[] = [];
    let commits = 0;
    for (let count = 0; count < 12; count += 1) {
      expected.push(`n${count}`);
      opened.perform(add(`n${count}`, 'x'.repeat(1_000_000 + count)));
      if (!opened.database.isTransaction) commits += 1;
      expect(afterKill(opened.file)).toEqual(expected);
    }
    expect(commits).toBeGreaterThan(1);
  });
});

it('a service that was stopped leaves no log', () => {
  const file = newFile();
  {
    using opened = openWriter(file);
    opened.perform(add('a'));
  }
  expect(existsSync(redoFileOf(file))).toBe(false);
  expect(kindsIn(file)).toEqual(['a']);
});

it('a backup of a running store has what was answered, and takes nothing from its log', async () => {
  const file = newFile();
  const target = newFile();
  const event = (kind: string) => ({ at: 1, kind, actor: '', subject: '', facts: {} });
  const storage = await openSqlite({ file });
  await storage.audit.record(event('before'));
  await storage.upkeep.backup?.(target);
  await storage.audit.record(event('after'));
  copyFileSync(redoFileOf(file), redoFileOf(target));
  await storage.close();
  expect(kindsIn(target)).toEqual(['before']);
  expect(kindsIn(file)).toEqual(['before', 'after']);
});
