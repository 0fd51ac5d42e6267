import { once } from 'node:events';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { setUpCli, startService, type CliSetup, type StartedService } from '../cli-harness.fixture.ts';
import { setUpCommandLine } from '../command-line.fixture.ts';

/** One service for all tests of a group. */
const useService = (...args: readonly string[]): (() => { cli: CliSetup; service: StartedService }) => {
  let running: { cli: CliSetup; service: StartedService };
  beforeAll(async () => {
    const cli = setUpCli();
    running = { cli, service: await startService(cli, args) };
  });
  afterAll(() => running.cli[Symbol.dispose]());
  return () => running;
};

describe('a running service', () => {
  const running = useService();

  test('has told what to try next, and all of that works', async () => {
    const { cli, service } = running();
    using line = setUpCommandLine(cli);
    const [, command] = /try it {4}sealane (.*)\n/.exec(await service.saw(/(try it .*\n)/)) ?? [];
    expect(await line.run((command ?? '').split(' '))).toMatchObject({ code: 0, stdout: 'hello\n' });
    expect(statSync(join(cli.home, '.sealane')).mode & 0o777).toBe(0o700);
    const key = readFileSync(join(cli.home, '.sealane', 'admin.key'), 'utf8');
    expect(await line.run(['key'])).toMatchObject({ stdout: key });
  });

  test('lets a task that has ended be watched from its beginning', async () => {
    const { cli, service } = running();
    using line = setUpCommandLine(cli);
    const { stdout: id } = await line.run(['send', '--quiet', '--no-wait', 'remember me', '--url', service.url]);
    await line.run(['watch', id.trim(), '--url', service.url]);
    expect(await line.run(['watch', id.trim(), '--url', service.url])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('remember me'),
    });
  });

  test('has its data folder to itself: a second one is told who has it', async () => {
    const { cli, service } = running();
    const { code, stderr } = await cli.run(['serve', '--port', '0']);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      new RegExp(`in use by process ${service.child.pid}\\.\\nnext: {2}kill ${service.child.pid}.*--data-dir FOLDER`),
    );
  });

  test('opens a debugger for no signal, which would need no key, and ends when it is told to', async () => {
    const { cli, service } = running();
    using line = setUpCommandLine(cli);
    service.child.kill('SIGUSR1');
    expect(await line.run(['send', 'still there', '--url', service.url])).toMatchObject({ stdout: 'still there\n' });
    service.child.kill('SIGTERM');
    const { code, stdout, stderr } = await service.done;
    expect(code).toBe(0);
    expect(stdout.match(/ready on/g)).toHaveLength(1);
    expect(stdout).not.toContain('curl');
    expect(stderr).not.toContain('Debugger');
  });
});

describe('a service with a key from a flag and a port for gRPC', () => {
  const running = useService('--admin-key', 'sl_given', '--grpc-port', '0');

  test('asks for the key in what to try next, because no other command could find it', async () => {
    const { cli, service } = running();
    using line = setUpCommandLine(cli);
    const said = await service.saw(/(try it [^]*the key .*\n)/);
    const [, command = ''] = /try it {4}sealane (.*)\n/.exec(said) ?? [];
    expect(said).toContain('the key   the one of --admin-key\n');
    const words = command.split(' ').map((word) => (word === 'KEY' ? 'sl_given' : word));
    expect(await line.run(words)).toMatchObject({ code: 0, stdout: 'hello\n' });
  });

  test('says where gRPC listens', async () => {
    expect(await running().service.saw(/by gRPC {3}(\S+)/)).toMatch(/^127\.0\.0\.1:[1-9]\d*$/);
  });
});

test('serve says where gRPC listens as JSON, too', async () => {
  using cli = setUpCli();
  const asJson = cli.start(['serve', '--port', '0', '--grpc-port', '0', '--json']);
  expect(await asJson.saw(/"grpc": ?"([^"]+)"/)).toMatch(/^127\.0\.0\.1:[1-9]\d*$/);
  asJson.child.kill('SIGTERM');
  await asJson.done;
});

test('what to try next works also where the service listens on every address', async () => {
  using cli = setUpCli();
  using line = setUpCommandLine(cli);
  const service = await startService(cli, ['--host', '0.0.0.0', '--insecure-http']);
  const [, command = ''] = /try it {4}sealane (.*)\n/.exec(await service.saw(/(try it .*\n)/)) ?? [];
  expect(await line.run(command.split(' '))).toMatchObject({ code: 0, stdout: 'hello\n' });
  service.child.kill('SIGTERM');
  await service.done;
});

test('a second signal ends it at once, whatever still runs', async () => {
  using cli = setUpCli();
  using line = setUpCommandLine(cli);
  const service = await startService(cli);
  await line.run(['send', '--no-wait', '@sleep 60000', '--url', service.url]);
  service.child.kill('SIGTERM');
  service.child.kill('SIGTERM');
  const again = setInterval(() => service.child.kill('SIGTERM'), 50);
  const { code } = await service.done;
  clearInterval(again);
  expect(code).toBe(143);
});

test('a port that is taken is told with who has it and another one', async () => {
  using cli = setUpCli();
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const { port } = holder.address() as AddressInfo;
  const { code, stdout, stderr } = await cli.run(['serve', '--port', String(port)]);
  holder.close();
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain(`next:  sealane serve --port ${port + 1}`);
  if (process.platform === 'linux') expect(stderr).toContain(`(process ${process.pid})`);
});

test('a host that nobody knows is told with the setting and with one that works', async () => {
  using cli = setUpCli();
  expect(await cli.run(['serve', '--port', '0', '--host', 'nosuch.invalid', '--insecure-http'])).toMatchObject({
    code: 1,
    stderr:
      'error: host is nosuch.invalid, which is no address and no name that this machine knows.\n' +
      'next:  sealane serve --host 127.0.0.1\n',
  });
});

test('a key that others can read, and an address that others can reach, keep it from starting', async () => {
  using cli = setUpCli();
  expect(await cli.run(['serve', '--host', '0.0.0.0'])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/--public-url https:.*--insecure-http/),
  });
  mkdirSync(join(cli.home, '.sealane'));
  writeFileSync(join(cli.home, '.sealane', 'admin.key'), 'sl_x', { mode: 0o644 });
  expect(await cli.run(['serve'])).toMatchObject({ code: 2, stderr: expect.stringContaining('chmod 600') });
});
