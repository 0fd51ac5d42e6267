import fs, { existsSync, rmSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

import { describe, expect, it, vi } from 'vitest';

import { all, sql } from '../steps/step.ts';
import { add, copyOf, kindsIn, newFile, openWriter } from './crashed-writer.fixture.ts';
import { redoFileOf } from './redo-file.ts';
import { openForReading } from './sqlite-database.ts';

const ADD_ORPHAN = sql(`INSERT INTO child (parent) VALUES (?)`);

/** More than the redo log has room for. */
const TOO_LARGE = 'x'.repeat(5_000_000);

const afterKill = (file: string): readonly string[] => kindsIn(copyOf(file));

/** Makes a function of the file system fail where `when` says so; as a disk does, it may have done its work. */
const breaking = (name: 'fdatasyncSync' | 'writeSync', when: () => boolean, code = 'EIO'): Disposable => {
  const real = fs[name] as (...args: never[]) => unknown;
  const patch = (own: unknown): void => {
    (fs as unknown as Record<string, unknown>)[name] = own;
    syncBuiltinESMExports();
  };
  patch((...args: never[]) => {
    if (when()) throw Object.assign(new Error(`${code}: broken on purpose, ${name}`), { code });
    return real(...args);
  });
  return { [Symbol.dispose]: () => patch(real) };
};

describe('a batch that fails in the middle', () => {
  it('leaves nothing, and all that was answered before it is as it was', () => {
    using opened = openWriter();
    opened.add('first');
    opened.add('second');
    const broken = (): void =>
      opened.writer.perform((run) => {
        run(add('half'));
        throw new Error('broken');
      }, new Set());
    expect(broken).toThrow('broken');
    expect(opened.kinds()).toEqual(['first', 'second']);
    expect(afterKill(opened.file)).toEqual(['first', 'second']);
    expect(broken).toThrow('broken');
    opened.add('third');
    expect(broken).toThrow('broken');
    expect(afterKill(opened.file)).toEqual(['first', 'second', 'third']);
    opened.writer.flush();
    expect(opened.kinds()).toEqual(['first', 'second', 'third']);
    expect(afterKill(opened.file)).toEqual(['first', 'second', 'third']);
  });
});

describe('a commit that fails', () => {
  it('refuses its batch for good, and all that was answered before it is as it was', () => {
    using opened = openWriter();
    // A foreign key that is looked at in the commit is the simplest way to make one fail.
    opened.database.exec('CREATE TABLE parent (id TEXT PRIMARY KEY)');
    opened.database.exec('CREATE TABLE child (parent TEXT REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)');
    opened.add('first');
    expect(() =>
      opened.writer.perform((run) => {
        run(add('refused', TOO_LARGE));
        run(all(ADD_ORPHAN, 'nobody'));
      }, new Set()),
    ).toThrow(/FOREIGN KEY/);
    expect(afterKill(opened.file)).toEqual(['first']);
    expect(opened.kinds()).toEqual(['first']);
    opened.add('second');
    expect(afterKill(opened.file)).toEqual(['first', 'second']);
    opened.writer.flush();
    expect(afterKill(opened.file)).toEqual(['first', 'second']);
  });
});

describe('a redo log that cannot be written', () => {
  it('is replaced by a commit', () => {
    using opened = openWriter();
    opened.add('first');
    const copies: string[] = [];
    {
      using _broken = breaking('writeSync', () => true);
      opened.add('second');
      expect(opened.database.isTransaction).toBe(false);
      copies.push(copyOf(opened.file));
      opened.add('third');
      copies.push(copyOf(opened.file));
    }
    opened.add('fourth');
    expect(opened.database.isTransaction).toBe(true);
    copies.push(copyOf(opened.file));
    expect(copies.map(kindsIn)).toEqual([
      ['first', 'second'],
      ['first', 'second', 'third'],
      ['first', 'second', 'third', 'fourth'],
    ]);
  });

  it('or synced is replaced by a commit, and what it has of the batch is not done again', () => {
    using opened = openWriter();
    opened.add('first');
    const copies: string[] = [];
    {
      using _broken = breaking('fdatasyncSync', () => true);
      opened.add('second');
      copies.push(copyOf(opened.file));
      opened.add('third');
      copies.push(copyOf(opened.file));
    }
    opened.add('fourth');
    copies.push(copyOf(opened.file));
    expect(copies.map(kindsIn)).toEqual([
      ['first', 'second'],
      ['first', 'second', 'third'],
      ['first', 'second', 'third', 'fourth'],
    ]);
  });

  // Record 2 is still there when the commit contains its batch, so the commit counts it.
  it('has a record that was written, not synced, and cannot be wiped: it is not done twice', () => {
    using opened = openWriter();
    opened.add('first');
    opened.writer.flush();
    {
      let failed = false;
      using _sync = breaking('fdatasyncSync', () => (failed = true));
      using _wipe = breaking('writeSync', () => failed);
      opened.add('second');
    }
    expect(afterKill(opened.file)).toEqual(['first', 'second']);
  });
});

describe('when somebody has removed the redo log of a running service,', () => {
  const failOnce = ({ writer }: ReturnType<typeof openWriter>): void =>
    expect(() =>
      writer.perform(() => {
        throw new Error('broken');
      }, new Set()),
    ).toThrow('broken');

  it('it does not go on as if what was answered had never been', () => {
    using opened = openWriter();
    opened.add('first');
    rmSync(redoFileOf(opened.file));
    failOnce(opened);
    let seen: readonly string[] | undefined;
    try {
      seen = opened.kinds();
    } catch {
      // A refusal is as good.
    }
    expect(seen ?? ['first']).toEqual(['first']);
  });

  it('it goes on, because everything in it was committed', () => {
    using opened = openWriter();
    opened.add('first');
    opened.writer.flush();
    rmSync(redoFileOf(opened.file));
    failOnce(opened);
    expect(opened.kinds()).toEqual(['first']);
    opened.add('second');
    expect(opened.kinds()).toEqual(['first', 'second']);
  });
});

it('closing with a commit that fails keeps the redo log', () => {
  using opened = openWriter();
  opened.database.exec('CREATE TABLE parent (id TEXT PRIMARY KEY)');
  opened.add('first');
  opened.database.exec('CREATE TABLE child (parent TEXT REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)');
  opened.database.exec("INSERT INTO child VALUES ('nobody')");
  expect(() => opened.writer.close()).toThrow(/FOREIGN KEY/);
  opened.database.close();
  expect(existsSync(redoFileOf(opened.file))).toBe(true);
  expect(afterKill(opened.file)).toEqual(['first']);
});

it('what was answered is in the database a moment later, without another call', async () => {
  using opened = openWriter();
  using reader = openForReading(opened.file);
  const seen = () => reader.prepare('SELECT kind FROM audit').all();
  opened.add('first');
  expect(seen()).toEqual([]);
  await vi.waitFor(() => expect(seen()).toEqual([{ kind: 'first' }]), { timeout: 20_000, interval: 10 });
});

it('on a disk without room for a redo log each batch is a commit of its own', () => {
  const file = newFile();
  using _full = breaking('writeSync', () => true, 'ENOSPC');
  using opened = openWriter(file);
  opened.add('first');
  expect(opened.database.isTransaction).toBe(false);
  expect(() =>
    opened.writer.perform((run) => {
      run(add('half'));
      throw new Error('broken');
    }, new Set()),
  ).toThrow('broken');
  opened.add('second');
  expect(afterKill(file)).toEqual(['first', 'second']);
});
