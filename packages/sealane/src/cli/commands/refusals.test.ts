import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { setUpCli, startScriptedService } from '../cli-harness.fixture.ts';
import { setUpCommandLine } from '../command-line.fixture.ts';

test.each([
  ['a wrong key', 401, undefined, {}, 7, /does not know this key[^]*next: {2}sealane key/],
  [
    'a key that is not an admin key',
    403,
    { error: { code: 'forbidden', message: 'Only admin keys.' } },
    {},
    7,
    /Only admin keys[^]*next: {2}sealane key/,
  ],
  ['a message that is too large', 413, undefined, {}, 1, /larger than the service takes[^]*limits\.bodyBytes/],
  ['too many calls', 429, undefined, { 'retry-after': '7' }, 1, /next: {2}try again in 7 s/],
  [
    'a disk that is full',
    503,
    { error: { code: 'storage-full', message: 'The disk is full.' } },
    { 'retry-after': '30' },
    1,
    /The disk is full\.\nnext: {2}df -h .*free some space/,
  ],
  ['a service that is not ready', 503, undefined, {}, 6, /not ready[^]*next: {2}sealane doctor/],
  ['an address of something else', 404, undefined, {}, 8, /check --url/],
  [
    'a bug',
    500,
    { error: { code: 'internal', message: 'Something broke (id 17).' } },
    {},
    1,
    /Something broke \(id 17\)/,
  ],
])('%s is told with its cause and the next step', async (_name, status, body, headers, expected, told) => {
  await using service = await startScriptedService(({ json }) => json(body ?? 'plain', status, headers));
  using cli = setUpCommandLine(service);
  const { code, stderr } = await cli.run(['tasks', 'list']);
  expect({ code, stderr }).toEqual({ code: expected, stderr: expect.stringMatching(told) });
});

test('no agent of that name', async () => {
  await using service = await startScriptedService(({ json }) =>
    json({
      jsonrpc: '2.0',
      id: 1,
      error: {
        code: -32_602,
        message: 'There is no agent "x". Known agents: echo.',
        data: [{ reason: 'AGENT_NOT_FOUND' }],
      },
    }),
  );
  using cli = setUpCommandLine(service);
  expect(await cli.run(['send', '--agent', 'x', 'hello'])).toMatchObject({
    code: 8,
    stderr: expect.stringMatching(/Known agents: echo\.\nnext: {2}sealane doctor/),
  });
});

test('a service that does not run', async () => {
  const { url, [Symbol.asyncDispose]: stop } = await startScriptedService(() => {});
  await stop();
  using cli = setUpCommandLine({ url });
  expect(await cli.run(['send', 'hello'])).toMatchObject({
    code: 6,
    stderr: expect.stringMatching(/not running there[^]*next: {2}sealane serve/),
  });
});

test.runIf(process.platform !== 'win32')(
  'a pipe in place of a configuration or of the admin key is waited for by no command',
  async () => {
    using cli = setUpCli();
    const folder = join(cli.home, '.sealane');
    for (const [name, words] of [
      ['sealane.yaml', ['tasks']],
      ['sealane.yaml', ['serve', '--port', '0']],
      ['admin.key', ['key']],
      ['admin.key', ['serve', '--port', '0']],
    ] as const) {
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder, { mode: 0o700 });
      execFileSync('mkfifo', ['-m', '600', join(folder, name)]);
      expect(await cli.run(words)).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/(sealane\.yaml:|admin\.key) is a pipe, not a file[^]*next: /),
      });
    }
  },
);

test('an address that can never work is not tried again and again', async () => {
  using cli = setUpCommandLine();
  expect(await cli.run(['send', 'hello', '--key', 'x', '--url', 'http://127.0.0.1:9'])).toMatchObject({
    code: 6,
    stderr: expect.stringContaining('bad port'),
  });
  expect(await cli.run(['send', 'hello', '--key', 'x', '--url', 'tasks.example'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('is not an address'),
  });
});

test('TLS to a service without it', async () => {
  await using service = await startScriptedService(({ json }) => json({}));
  using cli = setUpCommandLine({ url: service.url.replace('http', 'https') });
  expect(await cli.run(['tasks'])).toMatchObject({
    code: 6,
    stderr: expect.stringMatching(/does not speak TLS[^]*--url http:/),
  });
});

test('an answer that is not JSON', async () => {
  await using service = await startScriptedService(({ response }) => response.end('<html>'));
  using cli = setUpCommandLine(service);
  expect(await cli.run(['tasks'])).toMatchObject({ code: 1, stderr: expect.stringContaining('check --url') });
});

test('wrong usage has exit code 2 and names the help of the command, as JSON too', async () => {
  using cli = setUpCommandLine();
  expect(await cli.run(['sned', 'x'])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/Did you mean send[^]*next: {2}sealane --help/),
  });
  expect(await cli.run(['watch'])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/missing required argument 'task'[^]*next: {2}sealane watch --help/),
  });
  expect(JSON.parse((await cli.run(['tasks', 'show', '--json'])).stderr)).toMatchObject({
    error: { code: 'usage', next: 'sealane tasks show --help' },
  });
});

test('a call of send without words on its command line or on standard input is wrong usage', async () => {
  using cli = setUpCli();
  expect(await cli.run(['send'])).toMatchObject({ code: 2, stderr: expect.stringContaining('nothing to send') });
});

test('help and version are no failures', async () => {
  using cli = setUpCli();
  expect(await cli.run(['--version'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    stderr: '',
  });
  expect(await cli.run(['send', '--help'])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Examples:'),
    stderr: '',
  });
  expect(await cli.run(['--help'])).toMatchObject({ code: 0, stdout: expect.stringContaining('Exit codes:') });
});

test("the data folder's admin key goes to this machine, and to no other", async () => {
  await using service = await startScriptedService(({ json }) => json({ keys: [] }));
  using cli = setUpCli();
  mkdirSync(join(cli.home, '.sealane'), { mode: 0o700 });
  writeFileSync(join(cli.home, '.sealane', 'admin.key'), 'sl_test_key\n', { mode: 0o600 });
  expect(await cli.run(['keys', '--url', service.url])).toMatchObject({ code: 0 });
  const env = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: service.url };
  expect(await cli.run(['keys', '--url', 'http://tasks.example'], { env })).toMatchObject({
    code: 7,
    stderr: expect.stringContaining('wants a key, and none was given'),
  });
  expect(service.seen.map(({ headers }) => [headers.host, headers.authorization])).toEqual([
    [service.url.slice(7), 'Bearer sl_test_key'],
    ['tasks.example', undefined],
  ]);
  expect(await cli.run(['keys', '--url', 'http://tasks.example', '--key', 'sl_test_key'], { env })).toMatchObject({
    code: 0,
  });
});

test('a configuration that is wrong says how a call goes through without it', async () => {
  await using service = await startScriptedService(({ json }) => json({ keys: [] }));
  using cli = setUpCommandLine();
  mkdirSync(join(cli.home, '.sealane'), { mode: 0o700 });
  writeFileSync(join(cli.home, '.sealane', 'sealane.yaml'), 'port: seven\n');
  expect(await cli.run(['keys', '--url', service.url])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /port must be a number[^]*next: {2}sealane config check {3}# or do without it: --key KEY/,
    ),
  });
  expect(await cli.run(['keys', '--url', service.url, '--key', 'sl_test_key'])).toMatchObject({ code: 0 });
});
