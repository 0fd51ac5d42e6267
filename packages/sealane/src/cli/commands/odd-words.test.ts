import { describe, expect, test } from 'vitest';

import { startScriptedService } from '../cli-harness.fixture.ts';
import { setUpCommandLine } from '../command-line.fixture.ts';

const unused = () =>
  startScriptedService(({ json }) => {
    json({ error: { code: 'internal', message: 'This must not be called.' } }, 500);
  });

describe('words that would mean something else', () => {
  test.each([
    [['send', '--agent', '..', 'hi'], /".." is no name/],
    [['send', '--agent', '', 'hi'], /must not be empty/],
    [['send', '--context', '', 'hi'], /must not be empty/],
    [['send', '--task', '', 'hi'], /must not be empty/],
    [['watch', ''], /must not be empty/],
    [['tasks', 'list', '--owner', ''], /must not be empty/],
    [['tasks', 'export', '--owner', ''], /must not be empty/],
    [['tasks', 'show', ''], /"" is no name/],
    [['tasks', 'delete', '.'], /"." is no name/],
    [['tasks', 'cancel', '..'], /next: {2}sealane tasks cancel --help/],
    [['keys', 'revoke', ''], /"" is no name/],
    [['keys', 'create', 'ann', '--owner', ''], /must not be empty/],
    [['approvals', 'allow', '..'], /".." is no name/],
    [['lanes', 'list', '--limit', '99999999999999999999'], /whole number/],
    [['tasks', '--url', 'http://127.0.0.1:7420/?x=1'], /is not an address/],
  ])('%j is refused, and nothing is called', async (words, told) => {
    await using service = await unused();
    using cli = setUpCommandLine(service);
    expect(await cli.run(words)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(told) });
    expect(service.seen).toEqual([]);
  });

  test.each([
    [['send', 'hi', '--key', 'ключ'], /^error: The key has characters[^]*next: {2}correct --key/],
    [['send', 'hi', '--idempotency-key', 'ключ'], /^error: --idempotency-key has characters/],
    [['send', 'hi', '--url', 'http://ann:secret@127.0.0.1:7420'], /^error: An address has no name[^]*next: {2}--key/],
  ])('%j is a slip of the caller and no fault of the line', async (words, told) => {
    await using service = await unused();
    using cli = setUpCommandLine(service);
    expect(await cli.run(words)).toMatchObject({ code: 2, stderr: expect.stringMatching(told) });
  });
});

test.each([
  [['tasks', 'cancle', 't-1'], 'There is no command "tasks cancle". Did you mean cancel?', 'sealane tasks --help'],
  [
    ['--json', '--url', 'http://x', 'lanes', 'pasue'],
    'There is no command "lanes pasue". Did you mean pause?',
    'sealane lanes --help',
  ],
])('%j names the command that was meant', async (words, message, next) => {
  using cli = setUpCommandLine();
  const { code, stderr } = await cli.run(['--json', ...words]);
  expect(code).toBe(2);
  expect(JSON.parse(stderr)).toEqual({ error: { code: 'usage', message, next } });
});

test('the help of a command shows all of its options, also those of every command', async () => {
  using cli = setUpCommandLine();
  for (const words of [['send'], ['tasks', 'list'], ['backup']]) {
    const { stdout } = await cli.run([...words, '--help']);
    for (const option of ['--url <url>', '--key <key>', '--data-dir <folder>', '--json'])
      expect(stdout).toContain(option);
  }
});

test('what is not found, or refused as wrong, comes with the list or the help of its command', async () => {
  await using service = await startScriptedService(({ method, json }) =>
    method === 'DELETE'
      ? json({ error: { code: 'not-found', message: 'There is no key "x".' } }, 404)
      : json({ error: { code: 'invalid-params', message: 'name is too long.' } }, 400),
  );
  using cli = setUpCommandLine(service);
  expect(await cli.run(['keys', 'revoke', 'x'])).toMatchObject({
    code: 8,
    stderr: 'error: There is no key "x".\nnext:  sealane keys list\n',
  });
  expect(await cli.run(['keys', 'create', 'x'])).toMatchObject({
    code: 2,
    stderr: 'error: name is too long.\nnext:  sealane keys create --help\n',
  });
});

test('a name that is taken comes with what frees it', async () => {
  await using service = await startScriptedService(({ json }) =>
    json({ error: { code: 'conflict', message: 'There is already a key "ann".' } }, 409),
  );
  using cli = setUpCommandLine(service);
  expect(await cli.run(['keys', 'create', 'ann'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('next:  sealane keys revoke ann '),
  });
});

test('of several tasks, each is done that can be; what was done and what was not is told', async () => {
  await using service = await startScriptedService(({ path, json }) => {
    const id = path.split('/').at(-1);
    if (id === 't-1' || id === 't-4') json(undefined, 204);
    else json({ error: { code: 'task-not-found', message: `There is no task "${id}".` } }, 404);
  });
  using cli = setUpCommandLine(service);
  expect(await cli.run(['tasks', 'delete', 't-1', 't-2', 't-3', 't-4'])).toEqual({
    code: 8,
    stdout: 't-1  deleted\nt-4  deleted\n',
    stderr: 'error: There is no task "t-2". There is no task "t-3".\nnext:  sealane tasks list\n',
  });
  const { stdout, stderr } = await cli.run(['tasks', 'delete', 't-1', 't-2', '--json']);
  expect(JSON.parse(stdout)).toEqual({ deleted: ['t-1'] });
  expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'task-not-found' } });
});

test('a full page of lanes comes with the command for the next one, filters included', async () => {
  const lane = (key: string) => ({
    key,
    agent: 'echo',
    owner: 'ann',
    waiting: 1,
    running: null,
    paused: false,
    since: null,
  });
  const long = `echo//ann/${'x'.repeat(200)}`;
  await using service = await startScriptedService(({ json }) =>
    json({ lanes: [lane('echo//ann/1'), lane(long)], pausedAgents: [] }),
  );
  using cli = setUpCommandLine(service);
  const { stdout, stderr } = await cli.run(['lanes', 'list', '--owner', 'ann', '--limit', '2']);
  expect(stdout).toContain(`${long}  echo`);
  expect(stderr).toContain(`sealane lanes list --limit 2 --owner ann --after ${long}`);
  expect((await cli.run(['lanes', 'list'])).stderr).toBe('');
});
