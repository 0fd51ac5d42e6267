import { once } from 'node:events';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { setUpCli, startService } from '../cli-harness.fixture.ts';
import { setUpCommandLine } from '../command-line.fixture.ts';

test('serve prints one ready line and what to try next, and all of that works', async () => {
  using cli = setUpCli();
  using line = setUpCommandLine(cli);
  const service = await startService(cli);
  const [, command] = /try it {4}sealane (.*)\n/.exec(await service.saw(/(try it .*\n)/)) ?? [];
  expect(await line.run((command ?? '').split(' '))).toMatchObject({ code: 0, stdout: 'hello\n' });
  expect(statSync(join(cli.home, '.sealane')).mode & 0o777).toBe(0o700);
  const key = readFileSync(join(cli.home, '.sealane', 'admin.key'), 'utf8');
  expect(await line.run(['key'])).toMatchObject({ stdout: key });
  service.child.kill('SIGTERM');
  const { code, stdout } = await service.done;
  expect(code).toBe(0);
  expect(stdout.match(/ready on/g)).toHaveLength(1);
  expect(stdout).not.toContain('curl');
});

test('a key that was given by a flag is asked for in what to try next, because no other command could find it', async () => {
  using cli = setUpCli();
  using line = setUpCommandLine(cli);
  const service = await startService(cli, ['--admin-key', 'sl_given']);
  const said = await service.saw(/(try it [^]*the key .*\n)/);
  const [, command = ''] = /try it {4}sealane (.*)\n/.exec(said) ?? [];
  expect(said).toContain('the key   the one of --admin-key\n');
  const words = command.split(' ').map((word) => (word === 'KEY' ? 'sl_given' : word));
  expect(await line.run(words)).toMatchObject({ code: 0, stdout: 'hello\n' });
  service.child.kill('SIGTERM');
  await service.done;
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

test('what was sent is there after a restart', async () => {
  using cli = setUpCli();
  using line = setUpCommandLine(cli);
  const first = await startService(cli);
  const { stdout: id } = await line.run(['send', '--quiet', '--no-wait', 'remember me', '--url', first.url]);
  first.child.kill('SIGINT');
  await first.done;
  const second = await startService(cli);
  expect(await line.run(['watch', id.trim(), '--url', second.url])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('remember me'),
  });
  second.child.kill('SIGINT');
  await second.done;
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

test('no signal opens a debugger, which would need no key', async () => {
  using cli = setUpCli();
  using line = setUpCommandLine(cli);
  const service = await startService(cli);
  service.child.kill('SIGUSR1');
  expect(await line.run(['send', 'still there', '--url', service.url])).toMatchObject({ stdout: 'still there\n' });
  service.child.kill('SIGTERM');
  const { code, stderr } = await service.done;
  expect(code).toBe(0);
  expect(stderr).not.toContain('Debugger');
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

test('a data folder that is in use is told with who has it', async () => {
  using cli = setUpCli();
  const service = await startService(cli);
  const { code, stderr } = await cli.run(['serve', '--port', '0']);
  expect(code).toBe(1);
  expect(stderr).toMatch(
    new RegExp(`in use by process ${service.child.pid}\\.\\nnext: {2}kill ${service.child.pid}.*--data-dir FOLDER`),
  );
  service.child.kill('SIGTERM');
  await service.done;
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

test('agents that are added to the file are taken in while it runs; a file that is wrong changes nothing', async () => {
  using cli = setUpCli();
  using line = setUpCommandLine(cli);
  const file = join(cli.home, 'my.yaml');
  writeFileSync(file, 'agents: { one: { connector: echo, default: true } }\n');
  const service = await startService(cli, ['--config', 'my.yaml', '--admin-key', 'sl_x']);
  const send = (agent: string) => line.run(['send', 'hello', '--agent', agent, '--url', service.url, '--key', 'sl_x']);
  expect(await send('two')).toMatchObject({ code: 8 });
  const log = (words: string) =>
    new Promise<void>((resolve) => {
      const look = (chunk: Buffer) => {
        if (chunk.toString().includes(words)) resolve();
      };
      service.child.stderr?.on('data', look);
    });
  const isRefused = log('the changed configuration is not used');
  writeFileSync(file, 'agents: { two: { connector: ekko } }\n');
  await isRefused;
  expect(await send('one')).toMatchObject({ code: 0 });
  const isTaken = log('took in the changed configuration');
  writeFileSync(file, 'agents: { one: { connector: echo, default: true }, two: { connector: echo } }\n');
  await isTaken;
  expect(await send('two')).toMatchObject({ code: 0, stdout: 'hello\n' });
  service.child.kill('SIGTERM');
  await service.done;
});

test('serve says where gRPC listens when it is asked for, in words and as JSON', async () => {
  using cli = setUpCli();
  const service = await startService(cli, ['--grpc-port', '0']);
  expect(await service.saw(/by gRPC {3}(\S+)/)).toMatch(/^127\.0\.0\.1:[1-9]\d*$/);
  service.child.kill('SIGTERM');
  await service.done;
  const asJson = cli.start(['serve', '--port', '0', '--grpc-port', '0', '--json']);
  expect(await asJson.saw(/"grpc": ?"([^"]+)"/)).toMatch(/^127\.0\.0\.1:[1-9]\d*$/);
  asJson.child.kill('SIGTERM');
  await asJson.done;
});
