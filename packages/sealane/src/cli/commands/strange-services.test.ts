import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer, type AddressInfo, type Socket } from 'node:net';

import { expect, test } from 'vitest';

import { startScriptedService } from '../cli-harness.fixture.ts';
import { setUpCommandLine } from '../command-line.fixture.ts';

test('an address that sends callers on is not followed: the new one is told, and gets no key', async () => {
  await using other = await startScriptedService(({ json }) => json({ tasks: [], total: 0 }));
  await using service = await startScriptedService(({ response }) => {
    response.writeHead(302, { location: `${other.url}/sign-in?from=tasks` });
    response.end();
  });
  using cli = setUpCommandLine(service);
  for (const words of [['tasks'], ['send', 'hi'], ['send', '--no-wait', 'hi']]) {
    expect(await cli.run(words)).toMatchObject({
      code: 6,
      stderr: `error: ${service.url} sends callers on to ${other.url}.\nnext:  --url ${other.url}\n`,
    });
  }
  expect(other.seen).toEqual([]);
});

test.each([
  ['another protocol', (socket: Socket) => void socket.write('SSH-2.0-Sealess\r\n')],
  ['headers without an end', (socket: Socket) => void socket.write(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(100_000)}`)],
])('%s is not tried again and again', async (_name, answer) => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    answer(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    using cli = setUpCommandLine({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
    const { code, stderr } = await cli.run(['send', 'hi']);
    expect({ code, stderr }).toEqual({ code: 6, stderr: expect.stringMatching(/does not speak HTTP[^]*check --url/) });
    expect(stderr).not.toContain('Trying again');
  } finally {
    server.close();
  }
});

test.each([
  ['an object', { hello: 1 }],
  ['null', null],
  ['a list', []],
  ['a word', 'hello'],
])('JSON of somebody else (%s) is told as such by every command', async (_name, answer) => {
  await using service = await startScriptedService(({ json }) => json(answer));
  using cli = setUpCommandLine(service);
  for (const words of [
    ['tasks'],
    ['tasks', 'show', 't-1'],
    ['tasks', 'cancel', 't-1'],
    ['lanes'],
    ['keys'],
    ['approvals'],
    ['invite', 'ann'],
    ['send', 'hi'],
    ['export'],
    ['backup', 'copy.db'],
  ]) {
    const { code, stdout, stderr } = await cli.run(words);
    expect({ words, code, stdout, stderr }).toEqual({
      words,
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/answered (something that no service says|neither)[^]*check --url/),
    });
  }
  expect(await cli.run(['doctor'])).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/✗ service .*something that no service says\.\n.*check --url[^✓]*$/),
    stderr: '',
  });
});

test('a page that does not end is no copy and no export', async () => {
  await using service = await startScriptedService(({ response }) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.write('<html>');
  });
  using cli = setUpCommandLine(service);
  for (const words of [['export'], ['export', '--output', 'tasks.jsonl'], ['backup', 'copy.db']])
    expect(await cli.run(words)).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('check --url') });
  expect(readdirSync(cli.home)).toEqual([]);
});
