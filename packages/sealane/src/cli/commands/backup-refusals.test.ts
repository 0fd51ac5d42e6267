import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { setUpCli, startScriptedService, startService, type CliSetup } from '../cli-harness.fixture.ts';
import { setUpCommandLine } from '../command-line.fixture.ts';

/** Nobody listens there, whatever else runs on this machine. */
const OFFLINE = { env: { SEALANE_PORT: '1' } };

describe('beside a running service', () => {
  let cli: CliSetup;
  let url: string;
  beforeAll(async () => {
    cli = setUpCli();
    ({ url } = await startService(cli));
  });
  afterAll(() => cli[Symbol.dispose]());

  test('a copy never takes the place of the database that a service writes to', async () => {
    using line = setUpCommandLine(cli);
    const database = join(cli.home, '.sealane', 'sealane.db');
    for (const target of [database, '.sealane/../.sealane/sealane.db', `${database}.redo`]) {
      expect(await line.run(['backup', '--force', target, '--url', url])).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/is the database itself[^]*next: {2}sealane backup/),
      });
    }
    expect(await line.run(['backup', `${database}.copy`, '--url', url])).toMatchObject({ code: 0 });
  });

  test.runIf(process.platform !== 'win32')(
    'a pipe or a folder is not replaced by a copy, with --force or without',
    async () => {
      using line = setUpCommandLine(cli);
      execFileSync('mkfifo', [join(cli.home, 'pipe')]);
      symlinkSync('pipe', join(cli.home, 'link'));
      writeFileSync(join(cli.home, 'file'), 'as it was');
      symlinkSync('file', join(cli.home, 'link-to-file'));
      mkdirSync(join(cli.home, 'folder'));
      for (const words of [
        ['backup', 'TARGET'],
        ['export', '--output', 'TARGET'],
      ])
        for (const [target, kind, next] of [
          ['pipe', 'a pipe', 'choose another name: only a file can be replaced'],
          ['link', 'a pipe', 'choose another name: only a file can be replaced'],
          ['folder', 'a folder', 'name a file in it'],
        ] as const)
          for (const force of [[], ['--force']]) {
            const typed = words.map((word) => (word === 'TARGET' ? target : word));
            expect(await line.run([...typed, ...force, '--url', url])).toMatchObject({
              code: 1,
              stderr: `error: ${target} is ${kind}.\nnext:  ${next}\n`,
            });
          }
      expect(statSync(join(cli.home, 'pipe')).isFIFO()).toBe(true);
      expect(lstatSync(join(cli.home, 'link')).isSymbolicLink()).toBe(true);
      expect(await line.run(['export', '--output', 'link-to-file', '--force', '--url', url])).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/link-to-file is a link\.\nnext: {2}name the file itself/),
      });
      expect(lstatSync(join(cli.home, 'link-to-file')).isSymbolicLink()).toBe(true);
    },
  );
});

describe('after a service', () => {
  let cli: CliSetup;
  beforeAll(async () => {
    cli = setUpCli();
    const { child, done, url } = await startService(cli);
    using line = setUpCommandLine(cli);
    await line.run(['send', 'keep me', '--url', url]);
    child.kill('SIGTERM');
    await done;
  });
  afterAll(() => cli[Symbol.dispose]());

  test('a copy is for its owner only, also when no service runs', async () => {
    using line = setUpCommandLine(cli);
    expect(await line.run(['backup', 'copy.db', '--json'], OFFLINE)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"from":"file"'),
    });
    expect(statSync(join(cli.home, 'copy.db')).mode & 0o777).toBe(0o600);
  });

  test('a database of another program, or of a newer version, is not put in the place of a good one', async () => {
    using line = setUpCommandLine(cli);
    expect(await line.run(['backup', 'newer.db'], OFFLINE)).toMatchObject({ code: 0 });
    {
      using newer = new DatabaseSync(join(cli.home, 'newer.db'));
      newer.exec('PRAGMA user_version = 999');
      using foreign = new DatabaseSync(join(cli.home, 'foreign.db'));
      foreign.exec('CREATE TABLE tasks (id TEXT); INSERT INTO tasks VALUES (1)');
    }
    const database = join(cli.home, '.sealane', 'sealane.db');
    const before = readFileSync(database);
    expect(await line.run(['restore', 'newer.db'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('was written by a newer Sealane (schema 999'),
    });
    expect(await line.run(['restore', 'foreign.db'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is a database, but not one of Sealane'),
    });
    expect(readFileSync(database).equals(before)).toBe(true);
    expect(existsSync(`${database}.restoring`)).toBe(false);
  });
});

test('a copy that may lack the last moment says so to scripts, too', async () => {
  using cli = setUpCli();
  using line = setUpCommandLine(cli);
  const { child, done, url } = await startService(cli);
  await line.run(['send', 'hello', '--url', url]);
  child.kill('SIGKILL');
  await done;
  const database = join(cli.home, '.sealane', 'sealane.db');
  rmSync(`${database}.redo`);
  const warning = expect.stringContaining('sealane.db.redo is missing');
  const made = await line.run(['backup', 'copy.db', '--json'], OFFLINE);
  expect(JSON.parse(made.stdout)).toMatchObject({ from: 'file', warning });
  const restored = await line.run(['restore', database, '--data-dir', 'other', '--json']);
  expect(JSON.parse(restored.stdout)).toMatchObject({ kept: null, warning });
});

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('a copy that %s stops leaves no file', async (signal, expected) => {
  await using service = await startScriptedService(({ response, path }) => {
    const type = path === '/admin/backup' ? 'application/octet-stream' : 'application/x-ndjson';
    response.writeHead(200, { 'content-type': type });
    response.write(Buffer.alloc(100_000));
  });
  using cli = setUpCli(service);
  mkdirSync(join(cli.home, 'copies'));
  for (const words of [
    ['backup', 'copies/a.db'],
    ['tasks', 'export', '--output', 'copies/a.jsonl'],
  ]) {
    const { child, done } = cli.start(words);
    await expect.poll(() => readdirSync(join(cli.home, 'copies'))).toHaveLength(1);
    child.kill(signal);
    expect(await done).toMatchObject({ code: expected });
    expect(readdirSync(join(cli.home, 'copies'))).toEqual([]);
  }
});

test('a place that cannot be written is told in words', async () => {
  await using service = await startScriptedService(({ response }) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' });
    response.end('{}\n');
  });
  using cli = setUpCommandLine(service);
  mkdirSync(join(cli.home, 'folder'));
  const write = (target: string) => cli.run(['tasks', 'export', '--force', '--output', target]);
  expect(await write('absent/x.jsonl')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/There is no folder absent\.\nnext: {2}make it/),
  });
  expect(await write('folder')).toMatchObject({ code: 1, stderr: expect.stringContaining('folder is a folder.') });
  expect(await write('y'.repeat(300))).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/cannot be written \(ENAMETOOLONG\)\.\nnext: {2}choose another place/),
  });
});

test.runIf(process.platform !== 'win32')('a restore from a pipe is refused, and waits for nobody', async () => {
  using cli = setUpCommandLine();
  execFileSync('mkfifo', [join(cli.home, 'pipe')]);
  expect(await cli.run(['restore', 'pipe'])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/pipe is not a file.*\nnext: {2}sealane restore FILE/),
  });
});
