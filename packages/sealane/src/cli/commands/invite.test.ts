import { execFile, execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { expect, test } from 'vitest';

import { setUpCli, startScriptedService, startService, type CliSetup } from '../cli-harness.fixture.ts';
import { setUpCommandLine } from '../command-line.fixture.ts';

const CURL = `#!${process.execPath}
const words = process.argv.slice(2).filter((word) => word !== '-sS');
const after = (flag) => words.flatMap((word, index) => (words[index - 1] === flag ? [word] : []));
const headers = after('-H').map((header) => header.split(/: (.*)/s).slice(0, 2));
const [body] = after('-d');
fetch(words.at(-1), { headers, ...(body && { method: 'POST', body }) }).then(async (answer) => process.stdout.write(await answer.text()));
`;

/** Runs a line as somebody who pasted it; where there is no curl, something that understands these lines is. */
const paste = async (cli: CliSetup, line: string): Promise<unknown> => {
  let PATH = process.env.PATH ?? '';
  try {
    execFileSync('curl', ['--version']);
  } catch {
    writeFileSync(join(cli.home, 'curl'), CURL, { mode: 0o755 });
    PATH = `${cli.home}:${PATH}`;
  }
  const { stdout } = await promisify(execFile)('sh', ['-c', line], { env: { ...process.env, PATH } });
  return JSON.parse(stdout);
};

const linesOf = (text: string): readonly string[] => text.split('\n').filter((line) => line.startsWith('curl '));

const AGENTS = 'agents: { main: { connector: echo, default: true }, other: { connector: echo } }\n';

test('what invite prints works when it is pasted, until it is taken back as it says', async () => {
  using cli = setUpCli();
  writeFileSync(join(cli.home, 'my.yaml'), AGENTS);
  const service = await startService(cli, ['--config', 'my.yaml']);
  const { code, stdout, stderr } = await cli.run(['invite', 'hermes', '--url', service.url]);
  expect(code).toBe(0);
  expect(stdout).toContain(`  address   ${service.url}/agents/main\n`);
  expect(stdout).toMatch(/^hermes may use main: guarded, until \d{4}-.*Z\.$/m);
  expect(stderr).toMatch(/can be reached from this machine only[^]*--public-url/);

  const [send = '', card = ''] = linesOf(stdout);
  for (const _time of ['first', 'second'])
    expect(await paste(cli, send)).toMatchObject({
      result: { task: { status: { state: 'TASK_STATE_COMPLETED' }, artifacts: [{ parts: [{ text: 'hello' }] }] } },
    });
  // The agent is not public, so its card is for those with a key.
  expect(await paste(cli, card)).toMatchObject({ url: `${service.url}/agents/main` });
  expect(await paste(cli, send.replace('/agents/main', '/agents/other'))).toMatchObject({ error: {} });

  const listed = JSON.parse((await cli.run(['keys', '--json', '--url', service.url])).stdout) as object;
  expect(listed).toMatchObject({
    keys: [{ name: 'hermes', owner: 'hermes', admin: false, agents: ['main'], permission: 'guarded' }],
  });
  const [, revoke = ''] = /^Take it back: sealane (.*)$/m.exec(stdout) ?? [];
  expect(await cli.run(revoke.split(' '))).toMatchObject({ code: 0 });
  expect(await paste(cli, send)).toMatchObject({ error: { message: expect.stringContaining('key is not valid') } });
  service.child.kill('SIGTERM');
  await service.done;
});

test('as JSON it is the same, for several agents and with the public address of the service', async () => {
  using cli = setUpCli();
  writeFileSync(join(cli.home, 'my.yaml'), AGENTS);
  const service = await startService(cli, ['--config', 'my.yaml', '--public-url', 'https://tasks.example.com/a']);
  const words = ['invite', 'ann', '--agent', 'main', '--agent', 'other', '--expires', '1y', '--json'];
  const { stdout, stderr } = await cli.run([...words, '--url', service.url]);
  expect(stderr).toBe('');
  const answer = JSON.parse(stdout) as { key: string; expiresAt: string };
  const base = 'https://tasks.example.com/a/agents';
  expect(answer).toMatchObject({
    name: 'ann',
    owner: 'ann',
    permission: 'guarded',
    key: expect.stringMatching(/^sl_/),
    agents: ['main', 'other'].map((name) => ({
      name,
      url: `${base}/${name}`,
      card: `${base}/${name}/.well-known/agent-card.json`,
      curl: { send: expect.stringContaining(answer.key), card: expect.stringContaining(answer.key) },
    })),
    warnings: [],
    revoke: `sealane keys revoke ann --url ${service.url}`,
  });
  const days = (Date.parse(answer.expiresAt) - Date.now()) / 86_400_000;
  expect(days).toBeGreaterThan(364.9);
  expect(days).toBeLessThanOrEqual(365);
  service.child.kill('SIGTERM');
  await service.done;
});

const scripted = (agents: readonly object[], status = 201) =>
  startScriptedService(({ path, json, body }) => {
    if (path === '/admin/info') json({ url: 'http://tasks.example', agents });
    else if (status === 201) json({ ...body, id: 'key_1', key: 'sl_new', expiresAt: null, ratePerMinute: null }, 201);
    else json({ error: { code: 'conflict', message: 'There is already a key "bob".' } }, status);
  });

test.each([
  [[], { permission: 'guarded', expiresInMs: 30 * 86_400_000 }],
  [['--expires', 'never'], { permission: 'guarded' }],
  [
    ['--expires', '12h', '--rate', '30/min', '--owner', 'team', '--permission', 'workspace'],
    { permission: 'workspace', expiresInMs: 43_200_000, ratePerMinute: 30, owner: 'team' },
  ],
])('with %j the key is made as told', async (words, expected) => {
  await using service = await scripted([
    { name: 'one', default: false },
    { name: 'two', default: true },
  ]);
  using cli = setUpCommandLine(service);
  const { code, stderr } = await cli.run(['invite', 'bob', ...words]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('is plain HTTP') });
  expect(service.seen[1]?.body).toEqual({ name: 'bob', agents: ['two'], ...expected });
});

test.each([
  ['a name that is taken', [], 1, /already a key "bob"[^]*next: {2}sealane keys revoke bob {3}# then invite again/],
  [
    'an agent that does not exist',
    ['--agent', 'on'],
    8,
    /no agent "on"\. Known agents: one, two\.\nnext: .*--agent one$/m,
  ],
  ["the rights of the owner's key", ['--permission', 'agent-default'], 2, /That is for the owner's own key/],
  ['rights that do not exist', ['--permission', 'root'], 2, /must be read-only, guarded/],
  ['a time that is none', ['--expires', 'soon'], 2, /12h, 30d or 1y/],
])('%s is refused with the next step', async (_name, words, expected, told) => {
  await using service = await scripted([{ name: 'one', default: true }, { name: 'two' }], 409);
  using cli = setUpCommandLine(service);
  const { code, stdout, stderr } = await cli.run(['invite', 'bob', ...words]);
  expect({ code, stdout, stderr }).toEqual({ code: expected, stdout: '', stderr: expect.stringMatching(told) });
});

test('without a default agent one must be named', async () => {
  await using service = await scripted([{ name: 'one' }, { name: 'two' }]);
  using cli = setUpCommandLine(service);
  expect(await cli.run(['invite', 'bob'])).toMatchObject({
    code: 8,
    stderr: expect.stringMatching(
      /No agent is the default one\. Known agents: one, two\.\nnext: {2}sealane invite bob --agent one/,
    ),
  });
  expect(service.seen.map(({ path }) => path)).toEqual(['/admin/info']);
});

test('a service that does not run, and a key that is no admin key', async () => {
  const { url, [Symbol.asyncDispose]: stop } = await startScriptedService(() => {});
  await stop();
  using nobody = setUpCommandLine({ url });
  expect(await nobody.run(['invite', 'bob'])).toMatchObject({
    code: 6,
    stderr: expect.stringMatching(/next: {2}sealane serve/),
  });
  await using service = await scripted([]);
  using cli = setUpCommandLine(service);
  expect(await cli.run(['invite', 'bob', '--key', 'wrong'])).toMatchObject({
    code: 7,
    stderr: expect.stringContaining('next:'),
  });
});
