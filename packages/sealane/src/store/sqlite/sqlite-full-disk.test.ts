import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

/** What every program here begins with; a limit of the size of files is as good as a full disk. */
const OPEN = `
  import { execFileSync } from 'node:child_process';
  import { openForWriting } from '#store/sqlite/sqlite-database';
  import { createSqliteWriter } from '#store/sqlite/sqlite-writer';
  import { all, sql } from '#store/steps/step';

  const open = (file) => {
    const clock = { now: 0 };
    const options = { file, synchronous: 'FULL' };
    const database = openForWriting(options, clock);
    const writer = createSqliteWriter(database, options, clock);
    const close = () => {
      writer.close();
      database.close();
    };
    const write = (text) => writer.perform((run) => run(all(sql(text))), new Set());
    const read = (text) => writer.look((run) => run(all(sql(text))));
    return { database, writer, write, read, close };
  };
  const fill = (kind, rows) => \`INSERT INTO audit (at, kind, actor, subject, facts)
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \${rows})
    SELECT 0, '\${kind}', '', '', hex(zeroblob(3500)) FROM n\`;
  const limitFiles = (bytes) => execFileSync('prlimit', ['--pid', String(process.pid), '--fsize=' + bytes + ':']);
  const count = (kind) => \`SELECT count(*) AS n FROM audit WHERE kind = '\${kind}'\`;
  const file = process.argv[1];
  const tell = (facts) => console.log(JSON.stringify(facts));
`;

/** The redo log can be written, the database cannot: its WAL has reached the limit. */
const ONLY_THE_LOG = `${OPEN}
  import { setTimeout as delay } from 'node:timers/promises';
  const { database, write, read, close, writer } = open(file);
  // A checkpoint would make room in the WAL.
  database.exec('PRAGMA wal_autocheckpoint = 0');
  write(fill('old', 1000));
  writer.flush();
  const seen = [];
  let failures = 0;
  const crashes = [];
  limitFiles(4 * 1024 * 1024);
  for (let round = 1; round <= 4; round += 1) {
    write("INSERT INTO audit (at, kind, actor, subject, facts) VALUES (1, 'new', '', '', '')");
    try {
      writer.flush();
    } catch {
      failures += 1;
    }
    seen.push(read(count('new'))[0].n);
    limitFiles('unlimited');
    for (const ending of ['', '-wal', '.redo']) execFileSync('cp', [file + ending, file + '.' + round + ending]);
    limitFiles(4 * 1024 * 1024);
  }
  limitFiles('unlimited');
  // Nobody calls; the next try of the commit is enough.
  while (database.isTransaction) await delay(20);
  seen.push(read(count('new'))[0].n);
  close();
  for (const copy of ['.1', '.2', '.3', '.4', '']) {
    const found = open(file + copy);
    crashes.push(found.read(count('new'))[0].n);
    found.close();
  }
  tell({ seen, failures, crashes });`;

/** A read, while more than the cache holds has been answered and is not committed. */
const READ_WITHOUT_ROOM = `${OPEN}
  const { write, read, close, writer } = open(file);
  write(fill('old', 4000));
  writer.flush();
  write("UPDATE audit SET kind = 'new' WHERE k < 1000");
  limitFiles(1);
  let failure = '';
  try {
    // Pages must make room in the cache for those that are read, and there is no room to write them to.
    read(\`SELECT sum(length(a.facts) + length(b.facts) + length(c.facts) + length(d.facts)) FROM audit a
      JOIN audit b ON b.k = 4001 - a.k JOIN audit c ON c.k = a.k * 7 % 4000 JOIN audit d ON d.k = a.k * 11 % 4000\`);
  } catch (error) {
    failure = error.message;
  }
  limitFiles('unlimited');
  const [{ n }] = read(count('new'));
  close();
  tell({ failure, n });`;

/** A start after a crash: what is in the redo log only needs room in the database. */
const START_WITHOUT_ROOM = `${OPEN}
  const { write, read } = open(file);
  write(fill('new', 100));
  const crashed = file + '.crashed';
  for (const ending of ['', '-wal', '.redo']) execFileSync('cp', [file + ending, crashed + ending]);
  // Enough for what SQLite needs to look into the database.
  limitFiles(512 * 1024);
  let failure;
  try {
    open(crashed);
  } catch ({ code, message }) {
    failure = { code, message };
  }
  limitFiles('unlimited');
  const found = open(crashed);
  tell({ failure, n: found.read(count('new'))[0].n });
  process.exit();`;

/** The folder for the copy has no room; the one of the database may have. */
const COPY_WITHOUT_ROOM = `${OPEN}
  import { mkdtempSync } from 'node:fs';
  import { openSqlite } from '#store/sqlite/index';
  const { write, close } = open(file);
  write(fill('old', 200));
  close();
  const { upkeep } = await openSqlite({ file });
  const copies = mkdtempSync(file);
  limitFiles(1024 * 1024);
  tell(await upkeep.backup(copies + '/copy.db').catch(({ code, message }) => ({ code, message })));
  process.exit();`;

const resultOf = (program: string): unknown => {
  const folder = mkdtempSync(join(tmpdir(), 'sealane-full-'));
  try {
    const words = ['--conditions=sealane:source', '--input-type=module', '--eval', program, join(folder, 'sealane.db')];
    return JSON.parse(
      execFileSync(process.execPath, words, { encoding: 'utf8', cwd: fileURLToPath(new URL('.', import.meta.url)) }),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
};

describe.runIf(process.platform === 'linux')('while nothing can be written', () => {
  it('to the database, what the redo log takes is answered, seen, and never lost', () => {
    expect(resultOf(ONLY_THE_LOG)).toEqual({ seen: [1, 2, 3, 4, 4], failures: 4, crashes: [1, 2, 3, 4, 4] });
  });

  // SQLite ends the transaction when a read fails like this.
  it('at all, a read that fails takes nothing away from what was answered', () => {
    expect(resultOf(READ_WITHOUT_ROOM)).toEqual({ failure: 'disk I/O error', n: 999 });
  });

  it('a start after a crash asks for room, not for the redo log to be moved away, and then has everything', () => {
    expect(resultOf(START_WITHOUT_ROOM)).toEqual({
      failure: { code: 'storage-full', message: expect.not.stringContaining('move') },
      n: 100,
    });
  });

  it('to the folder in which a backup is made, that folder is named', () => {
    expect(resultOf(COPY_WITHOUT_ROOM)).toEqual({
      code: 'storage-full',
      message: expect.stringMatching(/written to .*sealane\.db\w{6}, .*TMPDIR/),
    });
  });
});
