import { expect, test } from 'vitest';

import { frames, startScriptedService } from '../cli-harness.fixture.ts';
import { setUpCommandLine } from '../command-line.fixture.ts';

test('watch tells the events from the first on, over a broken line, until the task has ended', async () => {
  await using service = await startScriptedService((exchange) => {
    const stream = exchange.stream();
    if (exchange.headers['last-event-id'] === '0') {
      stream.event(1, frames.status('submitted'));
      stream.event(2, frames.status('working', 'thinking'));
      setTimeout(() => stream.breakOff(), 20);
    } else {
      stream.event(3, frames.chunk('one\ntwo', false));
      stream.event(4, frames.status('input-required', 'Go on?'));
      stream.event(5, frames.status('working'));
      stream.event(6, frames.status('failed', 'no'));
    }
  });
  using cli = setUpCommandLine(service);
  const { code, stdout } = await cli.run(['watch', 't-1']);
  expect(code).toBe(1);
  expect(stdout.split('\n')).toEqual([
    '    1  submitted',
    '    2  working         thinking',
    String.raw`    3  artifact        "one\ntwo"`,
    '    4  input-required  Go on?',
    '    5  working',
    '    6  failed          no',
    '',
  ]);
  expect(service.seen.map(({ body, headers }) => [body.method, body.params?.id, headers['last-event-id']])).toEqual([
    ['SubscribeToTask', 't-1', '0'],
    ['SubscribeToTask', 't-1', '2'],
  ]);
});

test('watch --from asks only for what came after, and --json prints it in lines', async () => {
  await using service = await startScriptedService((exchange) => {
    const stream = exchange.stream();
    stream.event(8, frames.status('completed'));
    stream.end();
  });
  using cli = setUpCommandLine(service);
  const { code, stdout } = await cli.run(['watch', 't-1', '--from', '7', '--json']);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({ seq: 8, ...frames.status('completed') });
  expect(service.seen[0]?.headers['last-event-id']).toBe('7');
});

test('a service that does not replay an ended task is asked for the task', async () => {
  await using service = await startScriptedService((exchange) => {
    if (exchange.body.method === 'GetTask') exchange.result(frames.task('canceled').task);
    else exchange.json({ jsonrpc: '2.0', id: 1, error: { code: -32_004, message: 'ended' } });
  });
  using cli = setUpCommandLine(service);
  expect(await cli.run(['watch', 't-1'])).toMatchObject({ code: 4, stdout: expect.stringContaining('canceled') });
});

test('a task that is not there is told as such', async () => {
  await using service = await startScriptedService((exchange) =>
    exchange.json({
      jsonrpc: '2.0',
      id: 1,
      error: { code: -32_001, message: 'There is no task t-2.', data: [{ '@type': 'x', reason: 'TASK_NOT_FOUND' }] },
    }),
  );
  using cli = setUpCommandLine(service);
  expect(await cli.run(['watch', 't-2'])).toEqual({
    code: 8,
    stdout: '',
    stderr: 'error: There is no task t-2.\nnext:  sealane tasks list\n',
  });
});
