import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { frames, setUpCli, startScriptedService, type Exchange } from '../cli-harness.fixture.ts';
import { setUpCommandLine } from '../command-line.fixture.ts';

/** A service whose stream of a send tells these frames, numbered from 1, and ends. */
const telling = (...told: readonly unknown[]) =>
  startScriptedService((exchange) => {
    const stream = exchange.stream();
    for (const [index, frame] of told.entries()) stream.event(index + 1, frame);
    stream.end();
  });

const methodsOf = (seen: readonly Exchange[]) => seen.map(({ body }) => body.method);

describe('sealane send', () => {
  test('shows the answer as it comes', async () => {
    let finish = () => {};
    await using service = await startScriptedService((exchange) => {
      const stream = exchange.stream();
      stream.event(1, frames.task('submitted'));
      stream.event(2, frames.chunk('first ', false));
      finish = () => {
        stream.event(3, frames.chunk('second'));
        stream.event(4, frames.status('completed'));
        stream.end();
      };
    });
    using cli = setUpCli(service);
    const run = cli.start(['send', 'hello', 'world']);
    await run.saw('first ');
    finish();
    expect(await run.done).toEqual({ code: 0, stdout: 'first second\n', stderr: '' });
    const [{ path, headers, body } = expect.unreachable()] = service.seen;
    expect(path).toBe('/');
    expect(headers).toMatchObject({ 'a2a-version': '1.0', 'idempotency-key': expect.stringMatching(/.{16,}/) });
    expect(body).toMatchObject({
      method: 'SendStreamingMessage',
      params: { message: { role: 'ROLE_USER', parts: [{ text: 'hello world' }] } },
    });
  });

  test('goes on where the line broke, without a gap and without a repetition', async () => {
    await using service = await startScriptedService((exchange) => {
      const stream = exchange.stream();
      if (exchange.body.method === 'SendStreamingMessage') {
        stream.event(1, frames.task('submitted'));
        stream.event(3, frames.chunk('one ', false));
        setTimeout(() => stream.breakOff(), 20);
      } else if (exchange.headers['last-event-id'] === '3') {
        stream.event(4, frames.chunk('two '));
        setTimeout(() => stream.breakOff(), 20);
      } else {
        stream.event(5, frames.chunk('three'));
        stream.event(6, frames.status('completed'));
        // Left open: the last word of the turn is enough.
      }
    });
    using cli = setUpCommandLine(service);
    const { code, stdout, stderr } = await cli.run(['send', 'hello']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'one two three\n' });
    expect(stderr).toMatch(/Trying again in 0\.25 s/);
    expect(methodsOf(service.seen)).toEqual(['SendStreamingMessage', 'SubscribeToTask', 'SubscribeToTask']);
    expect(service.seen.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '3', '4']);
  });

  test('after a break, a snapshot of a service without cursors repeats nothing', async () => {
    const told = (exchange: Exchange, frame: unknown) =>
      void exchange.response.write(`data: ${JSON.stringify({ result: frame })}\n\n`);
    await using service = await startScriptedService((exchange) => {
      const stream = exchange.stream();
      if (exchange.body.method === 'SendStreamingMessage') {
        told(exchange, frames.task('submitted'));
        told(exchange, frames.chunk('one ', false));
        setTimeout(() => stream.breakOff(), 20);
      } else {
        told(exchange, frames.task('working', { artifacts: [{ artifactId: 'a-1', parts: [{ text: 'one two ' }] }] }));
        told(exchange, frames.chunk('three'));
        told(exchange, frames.status('completed'));
      }
    });
    using cli = setUpCommandLine(service);
    expect(await cli.run(['send', 'hello'])).toMatchObject({ code: 0, stdout: 'one two three\n' });
  });

  test('a line that breaks before the first word is tried again under the same idempotency key', async () => {
    await using service = await startScriptedService((exchange) => {
      if (service.seen.length === 1) {
        exchange.response.destroy();
        return;
      }
      const stream = exchange.stream();
      stream.event(1, frames.task('completed', { artifacts: [{ artifactId: 'a', parts: [{ text: 'once' }] }] }));
      stream.end();
    });
    using cli = setUpCommandLine(service);
    expect(await cli.run(['send', 'hello'])).toMatchObject({ code: 0, stdout: 'once\n' });
    const [first, second] = service.seen;
    expect(second?.headers['idempotency-key']).toBe(first?.headers['idempotency-key']);
    expect(second?.body).toEqual(first?.body);
  });

  test.each([
    [
      'failed',
      'out of memory',
      1,
      /^error: The task failed: out of memory\nnext: {2}sealane tasks show t-1 --events\n$/,
    ],
    ['canceled', undefined, 4, /The task was canceled/],
    ['rejected', 'not my job', 5, /^error: The task was rejected: not my job/],
  ])('a task that is %s has its own exit code', async (state, said, expected, told) => {
    await using service = await telling(frames.task('submitted'), frames.status(state, said));
    using cli = setUpCommandLine(service);
    const { code, stderr } = await cli.run(['send', 'hello']);
    expect(code).toBe(expected);
    expect(stderr).toMatch(told);
  });

  test('a question is printed with the command that answers it', async () => {
    await using service = await telling(frames.task('submitted'), frames.status('input-required', 'Which colour?'));
    using cli = setUpCommandLine(service);
    const { code, stdout, stderr } = await cli.run(['send', 'paint']);
    expect({ code, stdout }).toEqual({ code: 3, stdout: 'Which colour?\n' });
    expect(stderr).toContain("sealane send --task t-1 '…'");
  });

  test('an answer goes to its task, whose first snapshot may still show the question', async () => {
    await using service = await telling(
      frames.task('input-required'),
      frames.status('working'),
      frames.status('completed', 'painted'),
    );
    using cli = setUpCommandLine(service);
    expect(await cli.run(['send', '--task', 't-1', 'blue'])).toEqual({ code: 0, stdout: 'painted\n', stderr: '' });
    expect(service.seen[0]?.body.params).toMatchObject({ message: { taskId: 't-1' } });
  });

  test('a direct reply is printed', async () => {
    await using service = await telling({
      message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'hi' }, { data: { a: 1 } }] },
    });
    using cli = setUpCommandLine(service);
    expect(await cli.run(['send', '--agent', 'a/b', 'hello'])).toEqual({
      code: 0,
      stdout: 'hi\n{"a":1}\n',
      stderr: '',
    });
    expect(service.seen[0]?.path).toBe('/agents/a%2Fb');
  });

  test('--no-wait prints the id of the task and waits for nothing', async () => {
    await using service = await startScriptedService((exchange) => exchange.result(frames.task('submitted')));
    using cli = setUpCommandLine(service);
    expect(
      await cli.run(['send', '--no-wait', '--quiet', '--context', 'c-7', '--idempotency-key', 'k-1', 'hello']),
    ).toEqual({ code: 0, stdout: 't-1\n', stderr: '' });
    const [exchange] = service.seen;
    expect(exchange?.headers['idempotency-key']).toBe('k-1');
    expect(exchange?.body).toMatchObject({
      method: 'SendMessage',
      params: { message: { contextId: 'c-7' }, configuration: { returnImmediately: true } },
    });
  });

  test('text comes from standard input, and files go along', async () => {
    await using service = await telling(frames.task('completed'));
    using cli = setUpCli(service);
    writeFileSync(join(cli.home, 'notes.md'), '# Notes');
    writeFileSync(join(cli.home, 'blob.weird'), 'xyz');
    expect(
      await cli.run(['send', '-', '--file', 'notes.md', '--file', 'blob.weird'], { stdin: 'line 1\nline 2\n' }),
    ).toMatchObject({ code: 0 });
    expect(service.seen[0]?.body.params?.message).toMatchObject({
      parts: [
        { text: 'line 1\nline 2\n' },
        { raw: Buffer.from('# Notes').toString('base64'), filename: 'notes.md', mediaType: 'text/markdown' },
        { raw: Buffer.from('xyz').toString('base64'), filename: 'blob.weird', mediaType: 'application/octet-stream' },
      ],
    });
    expect(await cli.run(['send', '--file', 'absent'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('absent cannot be read (ENOENT)'),
    });
  });

  test('Ctrl-C leaves the task running and says how to find it again', async () => {
    await using service = await startScriptedService((exchange) => {
      const stream = exchange.stream();
      stream.event(1, frames.task('submitted'));
      stream.event(7, frames.chunk('working on it', false));
    });
    using cli = setUpCli(service);
    const run = cli.start(['send', 'long work']);
    await run.saw('working on it');
    run.child.kill('SIGINT');
    const { code, stdout, stderr } = await run.done;
    expect({ code, stdout }).toEqual({ code: 130, stdout: 'working on it\n' });
    expect(stderr).toMatch(/sealane watch t-1 --from 7 .*sealane tasks cancel t-1/);
    expect(methodsOf(service.seen)).toEqual(['SendStreamingMessage']);
  });

  test('--json prints every event in a line of its own, and the whole task last', async () => {
    await using service = await startScriptedService((exchange) => {
      if (exchange.body.method === 'GetTask') {
        exchange.result(frames.task('failed').task);
        return;
      }
      const stream = exchange.stream();
      stream.event(1, frames.task('submitted'));
      stream.event(2, frames.chunk('x', false));
      stream.event(3, frames.status('failed', 'broken'));
      stream.end();
    });
    using cli = setUpCommandLine(service);
    const { code, stdout, stderr } = await cli.run(['send', '--json', 'hello']);
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(code).toBe(1);
    expect(lines.map((line) => [line.seq, Object.keys(line)[1]])).toEqual([
      [1, 'task'],
      [2, 'artifactUpdate'],
      [3, 'statusUpdate'],
      [3, 'task'],
    ]);
    expect(JSON.parse(stderr)).toEqual({
      error: { code: 'task-failed', message: 'The task failed: broken', next: 'sealane tasks show t-1 --events' },
    });
  });

  test('files and data that an agent answers with are named', async () => {
    const parts = [
      { text: 'see:' },
      { raw: 'eHl6', filename: 'x.png', mediaType: 'image/png' },
      { url: 'https://files.example/y', mediaType: 'text/csv' },
    ];
    await using service = await telling(frames.task('completed', { artifacts: [{ artifactId: 'a', parts }] }));
    using cli = setUpCommandLine(service);
    expect(await cli.run(['send', 'x'])).toMatchObject({
      stdout: 'see:\n[file, x.png, image/png, 3 bytes]\n[file, text/csv, https://files.example/y]\n',
    });
  });
});
