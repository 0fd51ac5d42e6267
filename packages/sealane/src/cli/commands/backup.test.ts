import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { expect, test } from 'vitest';

import { setUpCli, startScriptedService, startService } from '../cli-harness.fixture.ts';
import { setUpCommandLine } from '../command-line.fixture.ts';

test('a backup of a running service can be restored, and what was there is kept', async () => {
  using cli = setUpCli();
  using line = setUpCommandLine(cli);
  const first = await startService(cli);
  await line.run(['send', 'before', '--url', first.url]);
  const backup = join(cli.home, 'copy.db');
  expect(await line.run(['backup', 'copy.db', '--url', first.url])).toEqual({
    code: 0,
    stdout: '1 tasks copied to copy.db, and the copy checked\n',
    stderr: '',
  });
  expect(statSync(backup).mode & 0o777).toBe(0o600);
  await line.run(['send', 'after', '--url', first.url]);
  const refused = await line.run(['restore', 'copy.db']);
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      new RegExp(`in use by process ${first.child.pid}[^]*next: {2}kill ${first.child.pid}`),
    ),
  });
  first.child.kill('SIGTERM');
  await first.done;

  const { code, stdout } = await line.run(['restore', 'copy.db', '--json']);
  expect(code).toBe(0);
  const { kept, tasks } = JSON.parse(stdout) as { kept: string; tasks: number };
  expect(tasks).toBe(1);
  expect(statSync(join(cli.home, '.sealane', 'sealane.db')).mode & 0o777).toBe(0o600);
  const count = (file: string) => {
    using database = new DatabaseSync(file, { readOnly: true });
    return database.prepare('SELECT count(*) AS n FROM tasks').get()?.n;
  };
  expect(count(kept)).toBe(2);
  const second = await startService(cli);
  const list = JSON.parse((await line.run(['tasks', '--json', '--url', second.url])).stdout) as { total: number };
  expect(list.total).toBe(1);
  second.child.kill('SIGTERM');
  await second.done;
});

test('a backup without a service reads the file itself, log included', async () => {
  using cli = setUpCli();
  using line = setUpCommandLine(cli);
  const service = await startService(cli);
  await line.run(['send', 'hello', '--url', service.url]);
  service.child.kill('SIGKILL');
  await service.done;
  const env = { SEALANE_PORT: '1' };
  expect(await line.run(['backup', 'copy.db'], { env })).toMatchObject({
    code: 0,
    stdout: '1 tasks copied to copy.db, and the copy checked\n',
  });
  expect(await line.run(['backup', 'copy.db'], { env })).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/exists already[^]*--force/),
  });
  expect(await line.run(['backup', 'copy.db', '--force', '--json'], { env })).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('"from":"file"'),
  });
  expect(await line.run(['backup', 'other.db', '--data-dir', 'nowhere'], { env })).toMatchObject({ code: 8 });
  expect(await line.run(['backup', 'other.db'], { env: { ...env, SEALANE_STORE: 'postgres://db/x' } })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('pg_dump'),
  });
  expect(await line.run(['restore', 'copy.db'])).toMatchObject({ code: 0 });
  expect(readdirSync(cli.home).filter((name) => name.startsWith('copy'))).toEqual(['copy.db']);
});

test('a database that another process has open, out of reach, is not copied behind its back', async () => {
  using cli = setUpCli();
  using line = setUpCommandLine(cli);
  const service = await startService(cli);
  const { code, stderr } = await line.run(['backup', 'copy.db'], { env: { SEALANE_PORT: '1' } });
  expect(code).toBe(6);
  expect(stderr).toMatch(new RegExp(`Process ${service.child.pid} has .* open[^]*--url`));
  service.child.kill('SIGTERM');
  await service.done;
});

test('a copy that is cut short or damaged is refused, and leaves no file', async () => {
  using cli = setUpCommandLine();
  const good = join(cli.home, 'good.db');
  {
    using database = new DatabaseSync(good);
    database.exec(
      'CREATE TABLE tasks (id TEXT); INSERT INTO tasks WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) SELECT hex(randomblob(100)) FROM n',
    );
  }
  const bytes = readFileSync(good);
  const damaged = Buffer.concat([bytes.subarray(0, 4096), Buffer.alloc(8192, 7), bytes.subarray(12_288)]);
  await using service = await startScriptedService(({ response }) => {
    const isShort = service.seen.length === 1;
    response.writeHead(200, {
      'content-type': 'application/octet-stream',
      ...(isShort && { 'content-length': String(bytes.length) }),
    });
    response.write(isShort ? bytes.subarray(0, 8192) : damaged);
    setTimeout(() => (isShort ? response.destroy() : response.end()), 20);
  });
  using remote = setUpCommandLine(service);
  expect(await remote.run(['backup', 'copy.db'])).toMatchObject({ code: 6 });
  expect(await remote.run(['backup', 'copy.db'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is damaged or no database'),
  });
  expect(readdirSync(remote.home).filter((name) => name.includes('copy'))).toEqual([]);

  writeFileSync(join(cli.home, 'damaged.db'), damaged);
  writeFileSync(join(cli.home, 'text.db'), 'hello');
  expect(await cli.run(['restore', 'damaged.db'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is damaged'),
  });
  expect(await cli.run(['restore', 'text.db'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is damaged or no database'),
  });
  expect(await cli.run(['restore', 'absent.db'])).toMatchObject({ code: 8 });
  expect(existsSync(join(cli.home, '.sealane', 'sealane.db'))).toBe(false);
});
