import { once } from 'node:events';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { setUpCli, startScriptedService } from '../cli-harness.fixture.ts';
import { setUpCommandLine } from '../command-line.fixture.ts';

interface Report {
  readonly ok: boolean;
  readonly checks: readonly {
    readonly name: string;
    readonly ok: boolean;
    readonly detail: string;
    readonly next?: string;
  }[];
}

const failing = ({ checks }: Report) => checks.filter(({ ok }) => !ok).map(({ name, next }) => [name, next]);

test('all is well beside a running service', async () => {
  using cli = setUpCli();
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const port = String((probe.address() as AddressInfo).port);
  await new Promise((resolve) => void probe.close(resolve));
  const service = cli.start(['serve'], { env: { SEALANE_PORT: port } });
  await service.saw('ready');
  const { code, stdout } = await cli.run(['doctor'], { env: { SEALANE_PORT: port } });
  expect(stdout.split('\n').map((line) => line.slice(0, 14).trim())).toEqual([
    '✓ node',
    '✓ config',
    '✓ data folder',
    '✓ database',
    '✓ port',
    '✓ service',
    '✓ key',
    '✓ store',
    '✓ agent echo',
    '',
  ]);
  expect(stdout).toContain(`in use by process ${service.child.pid}`);
  expect(code).toBe(0);
  service.child.kill('SIGTERM');
  await service.done;
});

test('each thing that is wrong comes with what to type', async () => {
  using cli = setUpCommandLine();
  const folder = join(cli.home, '.sealane');
  mkdirSync(folder);
  chmodSync(folder, 0o755);
  const holder = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const { port } = holder.address() as AddressInfo;
  const { code, stdout } = await cli.run(['doctor', '--json'], { env: { SEALANE_PORT: String(port) } });
  holder.close();
  expect(code).toBe(1);
  expect(failing(JSON.parse(stdout) as Report)).toEqual([
    ['data folder', `chmod 700 ${folder}`],
    ['port', `sealane serve --port ${port + 1}`],
    ['service', 'sealane doctor'],
  ]);
  writeFileSync(join(folder, 'sealane.yaml'), 'prot: 1\n');
  expect((await cli.run(['doctor'])).stdout).toMatch(/✗ config [^]*did you mean "port"/);
});

test('while no service runs, a database that would keep it from starting is seen', async () => {
  using cli = setUpCommandLine();
  const folder = join(cli.home, '.sealane');
  mkdirSync(folder, { mode: 0o700 });
  writeFileSync(join(folder, 'sealane.db'), 'Dear grandmother,\n'.repeat(100));
  const { stdout } = await cli.run(['doctor', '--json']);
  expect(failing(JSON.parse(stdout) as Report)[0]).toEqual([
    'database',
    expect.stringContaining('sealane restore FILE'),
  ]);
});

test('a data folder on a disk that is not mounted is not told as one that will be made', async () => {
  using cli = setUpCommandLine();
  symlinkSync(join(cli.home, 'stick', 'sealane'), join(cli.home, '.sealane'));
  const { stdout } = await cli.run(['doctor']);
  expect(stdout).toMatch(/✗ data folder .*stick.* is not there\n +next: mount or make it/);
});

test('a wrong key, an ill store and an ill agent are seen', async () => {
  await using service = await startScriptedService(({ path, json }) => {
    if (path === '/admin/health')
      json({
        store: 'the disk is full',
        agents: [
          { name: 'one', ok: true, detail: '' },
          { name: 'two', ok: false, detail: 'program not found: \u001B[31mfoo' },
        ],
      });
    else json(path === '/healthz' ? { status: 'ok' } : { version: '1', store: 'SQLite' });
  });
  using cli = setUpCommandLine(service);
  const { code, stdout } = await cli.run(['doctor']);
  expect(code).toBe(1);
  expect(stdout).toMatch(
    /✗ store +the disk is full\n +next: .*\n✓ agent one +ok\n✗ agent two +program not found: \[31mfoo\n +next: correct agents\.two in sealane\.yaml/,
  );
  expect((await cli.run(['doctor', '--key', 'wrong'])).stdout).toMatch(
    /✗ key +This key is not known\.\n +next: sealane key/,
  );
});

test('a PostgreSQL that does not answer is told, without its password', async () => {
  using cli = setUpCommandLine();
  const env = { SEALANE_STORE: 'postgres://me:secret@127.0.0.1:9/x' };
  const { code, stdout } = await cli.run(['doctor', '--json'], { env });
  expect(code).toBe(1);
  const database = (JSON.parse(stdout) as Report).checks.find(({ name }) => name === 'database');
  expect(database).toMatchObject({ ok: false, detail: expect.stringContaining('127.0.0.1:9/x does not answer') });
  expect(stdout).not.toContain('secret');
});
