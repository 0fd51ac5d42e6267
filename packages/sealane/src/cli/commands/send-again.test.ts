import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { createServer as createHttpServer } from 'node:http';

import { expect, test } from 'vitest';

import { frames, setUpCli, startScriptedService, startService, TEST_KEY } from '../cli-harness.fixture.ts';
import { setUpCommandLine } from '../command-line.fixture.ts';

test('the same message under the same idempotency key is the same task, waiting or not; another is refused', async () => {
  using cli = setUpCli();
  using line = setUpCommandLine(cli);
  const { url } = await startService(cli);
  const send = (...words: readonly string[]) => line.run(['send', '--idempotency-key', 'k-1', '--url', url, ...words]);
  const first = await send('--no-wait', 'hello');
  expect(first).toMatchObject({ code: 0 });
  expect(await send('--no-wait', 'hello')).toMatchObject({ code: 0, stdout: first.stdout });
  expect(await send('hello')).toMatchObject({ code: 0, stdout: 'hello\n' });
  expect(await send('something else')).toMatchObject({ code: 1, stderr: expect.stringContaining('Idempotency-Key') });
  const { stdout } = await line.run(['tasks', 'list', '--json', '--url', url]);
  expect(JSON.parse(stdout)).toMatchObject({ total: 1 });
});

test('a service that took the message and went away is waited for, under the same key', async () => {
  // It breaks the line when the message has come, is away for a while, and is there again.
  const breaking = createServer((socket) => {
    socket.once('data', () => {
      socket.resetAndDestroy();
      breaking.close();
    });
    socket.on('error', () => undefined);
  }).listen(0, '127.0.0.1');
  await once(breaking, 'listening');
  const { port } = breaking.address() as AddressInfo;
  using cli = setUpCli({ url: `http://127.0.0.1:${port}` });
  const sent = cli.start(['send', 'hello']);
  await sent.sawOnStderr('not running there');
  const keys: unknown[] = [];
  const back = createHttpServer((request, response) => {
    keys.push(request.headers['idempotency-key']);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(
      [frames.task('working'), frames.chunk('it arrived', false), frames.status('completed')]
        .map((result, index) => `id: ${index + 1}\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result })}\n\n`)
        .join(''),
    );
  }).listen(port, '127.0.0.1');
  try {
    expect(await sent.done).toMatchObject({ code: 0, stdout: 'it arrived\n' });
    expect(keys).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)]);
  } finally {
    back.closeAllConnections();
    back.close();
  }
});

test('a message handed in over a line that broke comes with the key that finds out', async () => {
  await using service = await startScriptedService(({ response }) => void response.destroy());
  using cli = setUpCommandLine(service);
  const { code, stderr } = await cli.run(['send', '--no-wait', 'hello']);
  expect(code).toBe(6);
  expect(stderr).toContain(`sealane send --idempotency-key ${String(service.seen[0]?.headers['idempotency-key'])} `);
});

test('an answer that breaks in the middle is a broken line, not something else than JSON', async () => {
  await using service = await startScriptedService(({ response }) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
    response.write('{"tasks":');
    setTimeout(() => response.destroy(), 20);
  });
  using cli = setUpCommandLine(service);
  expect(await cli.run(['tasks', 'list'])).toMatchObject({ code: 6, stderr: expect.stringContaining('broke') });
});

test('a watch on a service that is not there is told at once', async () => {
  const { url, [Symbol.asyncDispose]: stop } = await startScriptedService(() => {});
  await stop();
  using cli = setUpCommandLine({ url });
  const { code, stderr } = await cli.run(['watch', 't-1', '--key', TEST_KEY]);
  expect(code).toBe(6);
  expect(stderr).toMatch(/not running there[^]*next: {2}sealane serve/);
  expect(stderr).not.toContain('Trying again');
});

test('standard input that is not text is refused, not mangled', async () => {
  await using service = await startScriptedService(({ result }) => result(frames.task('completed')));
  using cli = setUpCli(service);
  const stdin = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0xff, 0xfe);
  expect(await cli.run(['send', '-'], { stdin })).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/not text in UTF-8[^]*next: {2}sealane send --file FILE/),
  });
  expect(service.seen).toEqual([]);
});

test('next steps lead to the service and the folder that the call was told', async () => {
  await using service = await startScriptedService(({ result, path, json }) =>
    path === '/'
      ? result(frames.task('submitted'))
      : json({ error: { code: 'task-not-found', message: 'There is no task t-2.' } }, 404),
  );
  using cli = setUpCommandLine();
  const where = ['--url', service.url, '--data-dir', 'my data'];
  expect(await cli.run(['send', '--no-wait', 'hi', '--key', TEST_KEY, ...where])).toMatchObject({
    code: 0,
    stderr: `Watch it: sealane watch t-1 --url ${service.url} --data-dir 'my data'\n`,
  });
  expect(await cli.run([...where, '--key', TEST_KEY, 'tasks', 'show', 't-2'])).toMatchObject({
    code: 8,
    stderr: expect.stringContaining(`next:  sealane tasks list --url ${service.url} --data-dir 'my data'\n`),
  });
  expect(await cli.run(['key', '--data-dir', 'my data'])).toMatchObject({
    code: 8,
    stderr: expect.stringContaining("next:  sealane serve --data-dir 'my data' "),
  });
});

test('a service that asks for more patience than anybody has is not waited for; the task is found again', async () => {
  await using service = await startScriptedService((exchange) => {
    if (service.seen.length > 1) {
      exchange.json({ error: { code: 'unavailable', message: 'Not now.' } }, 503, { 'retry-after': '86400' });
      return;
    }
    const stream = exchange.stream();
    stream.event(1, frames.task('working'));
    setTimeout(() => stream.breakOff(), 20);
  });
  using cli = setUpCommandLine(service);
  expect(await cli.run(['send', 'hi'])).toMatchObject({
    code: 6,
    stderr: expect.stringMatching(/error: Not now\.\nnext: {2}The task goes on\. Watch: sealane watch t-1 --from 1/),
  });
});
