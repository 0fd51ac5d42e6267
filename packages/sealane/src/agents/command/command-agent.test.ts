import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';

import type { JsonObject } from '#domain';
import { textOf } from '#domain';

import type { RunEvent, Turn, TurnEnd } from '../agent-connector.ts';
import { createCommandAgent } from './command-agent.ts';
import type { CommandInput } from './command-options.ts';
import type { RecordedIo } from './recorded-run.fixture.ts';
import { messageOfUser, recordedIo, textOfArtifact, turnOf } from './recorded-run.fixture.ts';

const directory = mkdtempSync(join(tmpdir(), 'sealane-command-'));
const agents: ReturnType<typeof createCommandAgent>[] = [];
const agentOf = (options: CommandInput) => {
  const agent = createCommandAgent({ killGraceMs: 300, ...options });
  agents.push(agent);
  return agent;
};
afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.close()));
  rmSync(directory, { recursive: true, force: true });
});

afterEach(() => {
  vi.unstubAllEnvs();
});

/** A program that is a few lines of JavaScript. */
const node = (source: string, ...args: readonly string[]): string[] => [
  process.execPath,
  '--input-type=module',
  '-e',
  source,
  '--',
  ...args,
];

const run = async (
  options: CommandInput,
  turn: Turn = turnOf('hello'),
  io: RecordedIo = recordedIo(),
): Promise<{ end: TurnEnd; io: RecordedIo; text: string; said: string }> => {
  const end = await agentOf(options).run(turn, io);
  return { end, io, text: textOfArtifact(io.events, 'answer-1'), said: textOf(end.message?.parts ?? []) };
};

describe('text output', () => {
  /** Prints something, and something else when the first has been heard: however late anybody is, they are two. */
  const runInTwoParts = async (first: string, second: string) => {
    const heard = join(directory, randomUUID());
    const source = `import { existsSync } from 'node:fs';
      process.stdout.write(${JSON.stringify(first)});
      while (!existsSync(${JSON.stringify(heard)})) await new Promise((resolve) => setTimeout(resolve, 10));
      process.stdout.write(${JSON.stringify(second)});`;
    const io = recordedIo();
    const running = run({ command: node(source) }, turnOf('go'), io);
    await io.until(({ kind }) => kind === 'artifact');
    writeFileSync(heard, '');
    return await running;
  };

  test('streams as it comes, in chunks of one artifact that a last one closes', async () => {
    const { end, text, io } = await runInTwoParts('one ', 'two');
    expect(end).toEqual({ state: 'completed' });
    expect(text).toBe('one two');
    const chunks = io.events.filter((event) => event.kind === 'artifact');
    expect(chunks[0]).toMatchObject({ artifact: { artifactId: 'answer-1', parts: [{ text: 'one ' }] }, append: false });
    expect(chunks[1]).toMatchObject({ append: true });
    expect(chunks.map((chunk) => chunk.lastChunk === true)).toEqual(
      chunks.map((_, index) => index === chunks.length - 1),
    );
  });

  test('is closed when the program ends long after its last word', async () => {
    const { io, text } = await runInTwoParts('done\n', '');
    expect(text).toBe('done\n');
    expect(io.events.map((event) => event.kind === 'artifact' && event.lastChunk)).toEqual([false, true]);
  });

  test('is one closed chunk when the program is quick', async () => {
    // On a machine that has much to do a program may take its time to end: then another is tried.
    await vi.waitFor(async () => {
      const { io } = await run({ command: ['echo', '{message}'] });
      expect(io.events).toEqual([
        {
          kind: 'artifact',
          artifact: { artifactId: 'answer-1', parts: [{ text: 'hello\n' }] },
          append: false,
          lastChunk: true,
        },
      ]);
    }, 20_000);
  });

  test('keeps characters whole that were written in pieces', async () => {
    const source = `const bytes = Buffer.from('a€😀z');
      for (const byte of bytes) { process.stdout.write(Buffer.of(byte)); await new Promise((r) => setTimeout(r, 25)); }`;
    const { text, io } = await run({ command: node(source) });
    expect(text).toBe('a€😀z');
    expect(JSON.stringify(io.events)).not.toContain('\uFFFD');
  });

  test('is no artifact when the program prints nothing', async () => {
    const { end, io } = await run({ command: node('') });
    expect(end).toEqual({ state: 'completed' });
    expect(io.events).toEqual([]);
  });

  test('makes the program wait while events find no room', async () => {
    let room: (() => void) | undefined;
    const marker = join(directory, 'written');
    const events: RunEvent[] = [];
    const first = Promise.withResolvers<void>();
    const io = recordedIo({
      emit: async (event) => {
        events.push(event);
        if (events.length > 1) return;
        first.resolve();
        await new Promise<void>((resolve) => (room = resolve));
      },
    });
    const source = `import { writeFileSync, writeSync } from 'node:fs';
      const block = Buffer.alloc(65536, 'x'); for (let n = 0; n < 64; n++) writeSync(1, block); writeFileSync(${JSON.stringify(marker)}, '')`;
    const running = agentOf({ command: node(source) }).run(turnOf('go'), io);
    await first.promise;
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(existsSync(marker)).toBe(false);
    room?.();
    await expect(running).resolves.toEqual({ state: 'completed' });
    expect(textOfArtifact(events, 'answer-1')).toHaveLength(64 * 65_536);
  });
});

describe('the message', () => {
  test('reaches the program on standard input when the command has no place for it', async () => {
    expect((await run({ command: ['cat'] }, turnOf('über\nzwei'))).text).toBe('über\nzwei');
  });

  test('is never read by a shell, and placeholders inside it stay text', async () => {
    const marker = join(directory, 'injected');
    const message = `"; touch ${marker}; $(touch ${marker}) \`touch ${marker}\` {taskId} $HOME *`;
    const { text } = await run(
      { command: ['printf', '%s|', '{message}', '{contextId}/{taskId}', '{session}'] },
      turnOf(message),
    );
    expect(text).toBe(`${message}|context-1/task-1|program//ada/context-1|`);
    expect(existsSync(marker)).toBe(false);
  });

  test('that begins with a dash is refused where it would be a flag', async () => {
    const { end, said, io } = await run({ command: ['printf', '%s', '{message}'] }, turnOf('--version'));
    expect(end.state).toBe('rejected');
    expect(said).toContain('begins with "-"');
    expect(io.events).toEqual([]);
    expect((await run({ command: ['printf', '--', '%s', '{message}'] }, turnOf('--version'))).text).toBe('--version');
    expect((await run({ command: ['printf', '%s', 'say={message}'] }, turnOf('--version'))).text).toBe('say=--version');
  });

  test('comes as JSON with its history and metadata when the program wants that', async () => {
    const earlier = messageOfUser('before');
    const turn = turnOf('now', { history: () => Promise.resolve([earlier]), metadata: { colour: 'blue' } });
    const { text } = await run({ command: ['cat'], input: 'json' }, turn);
    const { taskId, contextId, message, metadata } = turn;
    expect(text.endsWith('\n')).toBe(true);
    expect(JSON.parse(text)).toEqual({
      taskId,
      contextId,
      message,
      history: [earlier],
      metadata,
      extensions: [],
      outputModes: [],
    });
  });

  test('without text is refused by a program that reads text', async () => {
    const turn = turnOf('', { message: { ...messageOfUser(''), parts: [{ data: 1 }] } });
    expect((await run({ command: ['cat'] }, turn)).end.state).toBe('rejected');
  });
});

describe('json output', () => {
  const print = (value: unknown): string[] => ['printf', '%s', JSON.stringify(value)];

  test('gives text, parts, artifacts, state and message', async () => {
    const { end, io, said } = await run({
      output: 'json',
      input: 'stdin',
      command: print({
        text: 'hi',
        parts: [{ data: { a: 1 } }],
        artifacts: [{ name: 'file', parts: [{ url: 'https://example.com/x' }] }],
        state: 'input-required',
        message: 'which one?',
      }),
    });
    expect(end.state).toBe('input-required');
    expect(said).toBe('which one?');
    expect(io.events).toMatchObject([
      { artifact: { artifactId: 'answer-1', parts: [{ text: 'hi' }, { data: { a: 1 } }] }, lastChunk: true },
      { artifact: { artifactId: 'answer-1-1', name: 'file' }, lastChunk: true },
    ]);
  });

  test('that is any other value is the answer itself', async () => {
    expect((await run({ output: 'json', command: print('just text') })).text).toBe('just text');
    const { io } = await run({ output: 'json', command: print({ result: [1, 2] }) });
    expect(io.events).toMatchObject([{ artifact: { parts: [{ data: { result: [1, 2] } }] } }]);
  });

  test('that is not JSON, or not an answer, fails and shows what was printed', async () => {
    const broken = await run({ output: 'json', command: ['echo', 'oops {'] });
    expect(broken.end).toMatchObject({ state: 'failed', reason: 'bad-output' });
    expect(broken.said).toContain('oops {');
    const wrong = await run({ output: 'json', command: print({ state: 'sleeping' }) });
    expect(wrong.end).toMatchObject({ state: 'failed', reason: 'bad-output' });
    expect(wrong.said).toContain('state');
  });
});

describe('jsonl output', () => {
  const lines = (...values: readonly unknown[]): string[] => [
    'printf',
    '%s\\n',
    ...values.map((value) => JSON.stringify(value)),
  ];

  test('is handled line by line', async () => {
    const { end, io, text, said } = await run({
      output: 'jsonl',
      command: lines(
        { status: 'thinking' },
        { text: 'a' },
        { text: 'b' },
        { artifact: { artifactId: 'x', parts: [{ text: '1' }] }, append: true },
        { text: 'c' },
        { end: 'auth-required', message: 'log in' },
        { text: 'too late' },
      ),
    });
    expect(text).toBe('abc');
    expect(end.state).toBe('auth-required');
    expect(said).toBe('log in');
    expect(io.events).toMatchObject([
      { kind: 'status', message: { parts: [{ text: 'thinking' }] } },
      { artifact: { parts: [{ text: 'ab' }] }, append: false, lastChunk: false },
      { artifact: { artifactId: 'x' }, append: true },
      { artifact: { parts: [{ text: 'c' }] }, append: true, lastChunk: true },
    ]);
  });

  test('shows a line before the program has ended', async () => {
    const io = recordedIo();
    const running = agentOf({
      command: node(`console.log('{"text":"early"}'); setInterval(() => 0, 1000)`),
      output: 'jsonl',
    }).run(turnOf('go'), io);
    await io.until((event) => event.kind === 'artifact');
    io.abort();
    await expect(running).resolves.toEqual({ state: 'canceled' });
  });

  test('asks a question, and the answer comes as a line', async () => {
    const io = recordedIo();
    const source = `console.log('{"ask":"name?"}');
      process.stdin.once('data', (line) => { const { answer, message } = JSON.parse(line);
        console.log(JSON.stringify({ text: answer + '/' + message.role })); console.log('{"end":"completed"}'); process.stdin.pause(); });`;
    const command = node(source, '{message}');
    const running = run({ command, output: 'jsonl' }, turnOf('go'), io);
    const asked = await io.until((event) => event.kind === 'ask');
    expect(asked).toMatchObject({ kind: 'ask', state: 'input-required', message: { parts: [{ text: 'name?' }] } });
    io.put(messageOfUser('Ada'));
    const { end, text } = await running;
    expect(end).toEqual({ state: 'completed' });
    expect(text).toBe('Ada/ROLE_USER');
  });

  test('takes steering when it is allowed', async () => {
    const io = recordedIo();
    const source = `console.log('{"status":"ready"}'); let seen = 0;
      process.stdin.on('data', (data) => { for (const line of data.toString().trim().split('\\n')) {
        const got = JSON.parse(line); seen += 1;
        if (seen > 1) { console.log(JSON.stringify({ text: got.steer })); process.exit(0); } } });`;
    const agent = agentOf({ command: node(source), output: 'jsonl', input: 'json', steer: true });
    expect(agent.steerable).toBe(true);
    const running = agent.run(turnOf('go'), io);
    await io.until((event) => event.kind === 'status');
    io.put(messageOfUser('left'));
    await expect(running).resolves.toEqual({ state: 'completed' });
    expect(textOfArtifact(io.events, 'answer-1')).toBe('left');
  });

  test('fails at a line that means nothing, and stops the program', async () => {
    const source = `console.log('hello'); setInterval(() => 0, 1000)`;
    const { end, said } = await run({ command: node(source), output: 'jsonl' });
    expect(end).toMatchObject({ state: 'failed', reason: 'bad-output' });
    expect(said).toContain('hello');
  });

  test('does not let a program stay that has said how the turn ends', async () => {
    const source = `console.log('{"end":"completed"}'); setInterval(() => 0, 1000)`;
    expect((await run({ command: node(source), output: 'jsonl' })).end).toEqual({ state: 'completed' });
  });
});

describe('a failure', () => {
  test('tells the exit code and the end of standard error', async () => {
    const source = `process.stderr.write('x'.repeat(5000) + ' no luck\\n'); process.exitCode = 7`;
    const { end, said } = await run({ command: node(source), maxStderrBytes: 20 });
    expect(end).toMatchObject({ state: 'failed', reason: 'exit-code', retryable: false });
    expect(said).toMatch(/exit code 7\. It said: x{11} no luck$/);
  });

  test('tells the signal that killed the program', async () => {
    const { end, said } = await run({ command: node(`process.kill(process.pid, 'SIGKILL')`) });
    expect(end).toMatchObject({ state: 'failed', reason: 'signal' });
    expect(said).toContain('SIGKILL');
  });

  test('names a program that is missing and says what to do, to the operator only', async () => {
    const { end, said } = await run({ command: ['no-such-program-anywhere'] });
    expect(end).toMatchObject({ state: 'failed', reason: 'not-started', retryable: false });
    expect(end.detail).toContain('no-such-program-anywhere is not in PATH');
    expect(end.detail).toContain('Install it');
    expect(said).toMatch(/^The program of this agent is missing\. .*operator/);
  });

  test('tells a missing directory, interpreter and permission apart, and shows callers no paths', async () => {
    const script = join(directory, 'script');
    writeFileSync(script, '#!/no/such/interpreter\n');
    const closed = await run({ command: [script] });
    expect(closed.end.detail).toContain('chmod +x');
    chmodSync(script, 0o755);
    const bare = await run({ command: [script] });
    expect(bare.end.detail).toContain('interpreter');
    const homeless = await run({ command: ['cat'], cwd: join(directory, 'nowhere') });
    expect(homeless.end.detail).toContain('does not exist');
    for (const { said } of [closed, bare, homeless]) {
      expect(said).toMatch(/^The program of this agent (is missing|cannot be started)/);
      expect(said).not.toContain('/');
    }
  });

  test('comes when the output outgrows its limit, and the program is stopped', async () => {
    const source = `const more = () => process.stdout.write('x'.repeat(10000), more); more()`;
    const { end, said } = await run({ command: node(source), maxOutputBytes: 100_000 });
    expect(end).toMatchObject({ state: 'failed', reason: 'output-limit' });
    expect(said).toContain('100000 bytes');
  });

  test('comes with a message that no argument can hold', async () => {
    const { said } = await run({ command: ['echo', '{message}'] }, turnOf('x'.repeat(200_000)));
    expect(said).toContain('input: stdin');
    expect((await run({ command: ['echo', '{message}'] }, turnOf('a\0b'))).end.state).toBe('rejected');
  });

  test('of the engine to take an event ends the program and is passed on', async () => {
    const io = recordedIo({ emit: () => Promise.reject(new Error('lease lost')) });
    const source = `console.log('x'); setInterval(() => 0, 1000)`;
    await expect(run({ command: node(source) }, turnOf('go'), io)).rejects.toThrow('lease lost');
  });
});

test('the program sees whose run it is, and no key of ours', async () => {
  vi.stubEnv('SEALANE_ADMIN_KEY', 'secret');
  vi.stubEnv('COLOUR_OF_THE_TEST', 'red');
  const command = node('console.log(JSON.stringify(process.env))');
  const turn = turnOf('go', { traceparent: '00-1-2-01' });
  const seen = async (options: Partial<CommandInput>): Promise<JsonObject> =>
    JSON.parse((await run({ command, ...options }, turn)).text) as JsonObject;
  const few = await seen({ env: { EXTRA: '1' } });
  expect(few).toMatchObject({
    SEALANE_TASK_ID: 'task-1',
    SEALANE_CONTEXT_ID: 'context-1',
    SEALANE_RUN_ID: 'run-2',
    SEALANE_ANCESTORS: 'run-1,run-2',
    SEALANE_ATTEMPT: '1',
    SEALANE_SESSION: 'program//ada/context-1',
    SEALANE_RUN_TOKEN: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
    TRACEPARENT: '00-1-2-01',
    EXTRA: '1',
    PATH: process.env['PATH'],
  });
  expect(Object.keys(few)).not.toContain('COLOUR_OF_THE_TEST');
  const all = await seen({ inheritEnv: true });
  expect(all['COLOUR_OF_THE_TEST']).toBe('red');
  expect(Object.keys(all)).not.toContain('SEALANE_ADMIN_KEY');
  expect((await seen({ inheritEnv: ['COLOUR_*'] }))['COLOUR_OF_THE_TEST']).toBe('red');
});

test.runIf(process.platform === 'linux')(
  'the program inherits its three streams and no other socket of ours',
  async () => {
    const { text } = await run({ command: ['ls', '-l', '/proc/self/fd'] });
    expect(text.match(/ [0-9]+ -> socket:/g)).toEqual([' 0 -> socket:', ' 1 -> socket:', ' 2 -> socket:']);
  },
);

test('what finds the run again is remembered before the program starts', async () => {
  const marker = join(directory, 'started');
  let startedBefore: boolean | undefined;
  const io = recordedIo({
    remember: async () => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      startedBefore = existsSync(marker);
    },
  });
  await run({ command: ['touch', marker] }, turnOf('go'), io);
  expect(startedBefore).toBe(false);
  expect(existsSync(marker)).toBe(true);
});

test('a run that is canceled before it starts starts nothing', async () => {
  const marker = join(directory, 'never');
  const io = recordedIo();
  io.abort();
  expect((await run({ command: ['touch', marker] }, turnOf('go'), io)).end).toEqual({ state: 'canceled' });
  expect(existsSync(marker)).toBe(false);
});

test('health tells whether the program can be found', async () => {
  await expect(agentOf({ command: ['cat'] }).health?.()).resolves.toMatchObject({ ok: true });
  await expect(agentOf({ command: ['no-such-program-anywhere'] }).health?.()).resolves.toMatchObject({ ok: false });
});

test('options that cannot work are refused', () => {
  expect(() => createCommandAgent({ command: [] })).toThrow('at least the program');
  expect(() => createCommandAgent({ command: ['cat'], input: 'argument' })).toThrow('{message}');
  expect(() => createCommandAgent({ command: ['cat'], steer: true })).toThrow('jsonl');
  expect(() => createCommandAgent({ command: ['cat'], output: 'jsonl', steer: true })).toThrow('standard input');
});

test('closing ends live runs', async () => {
  const agent = createCommandAgent({ command: node(`console.log('up'); setInterval(() => 0, 1000)`) });
  const io = recordedIo();
  const running = agent.run(turnOf('go'), io);
  await io.until((event) => event.kind === 'artifact');
  await agent.close();
  const interrupted = { state: 'failed', reason: 'unavailable', retryable: true };
  await expect(running).resolves.toMatchObject(interrupted);
  await expect(agent.run(turnOf('go'), recordedIo())).resolves.toMatchObject(interrupted);
});
