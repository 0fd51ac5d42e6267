import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, expect, onTestFinished, test } from 'vitest';

import { textOf } from '#domain';

import { openChildStreams } from './child-streams.ts';
import { createCommandAgent } from './command-agent.ts';
import type { CommandInput } from './command-options.ts';
import type { RecordedIo } from './recorded-run.fixture.ts';
import { recordedIo, textOfArtifact, turnOf } from './recorded-run.fixture.ts';
import { startProgram } from './start-program.ts';

// What programs do that are not written for us.

const agents: ReturnType<typeof createCommandAgent>[] = [];
afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.close()));
});

const start = (options: CommandInput, io: RecordedIo, text = 'hello') => {
  const agent = createCommandAgent({ killGraceMs: 300, ...options });
  agents.push(agent);
  return agent.run(turnOf(text), io);
};

const run = async (options: CommandInput, message?: string) => {
  const io = recordedIo();
  const end = await start(options, io, message);
  return { end, io, text: textOfArtifact(io.events, 'answer-1'), said: textOf(end.message?.parts ?? []) };
};

test.for([1, 5, 10])('a program that speaks every %i ms and never pauses is heard at once', async (everyMs) => {
  const io = recordedIo();
  const source = `setInterval(() => process.stdout.write('word '), ${everyMs})`;
  const running = start({ command: [process.execPath, '-e', source] }, io);
  const first = await io.until((event) => event.kind === 'artifact');
  expect(textOf(first.kind === 'artifact' ? first.artifact.parts : []).length).toBeLessThan(2000);
  io.abort();
  await expect(running).resolves.toEqual({ state: 'canceled' });
});

test('data and metadata of any depth are handed on: what is too much is for the engine to say', async () => {
  const deep = `${'{"a":'.repeat(4000)}null${'}'.repeat(4000)}`;
  const printed = async (line: string) => {
    const { end, io } = await run({ command: ['printenv', 'LINE'], output: 'jsonl', env: { LINE: line } });
    expect(end).toEqual({ state: 'completed' });
    return io.events;
  };
  expect(await printed(`{"status":"x","metadata":${deep}}`)).toMatchObject([{ metadata: { a: {} } }]);
  expect(await printed(`{"artifact":{"parts":[{"data":${deep}}]}}`)).toMatchObject([
    { artifact: { parts: [{ data: { a: {} } }] } },
  ]);
  expect(await printed('{"artifact":{"parts":[{"data":null}]}}')).toMatchObject([
    { artifact: { parts: [{ data: null }] } },
  ]);
});

test('JSON comes in one line, also to a program that ends lines at U+2028, as those do that read with readline', async () => {
  const source = `require('node:readline').createInterface({ input: process.stdin })
    .on('line', (line) => process.stdout.write(JSON.parse(line).message.parts[0].text))`;
  const words = 'one\u2028two\u2029three\u0085four';
  expect((await run({ command: [process.execPath, '-e', source], input: 'json' }, words)).text).toBe(words);
});

test('files are told in the base64 that every client reads, and what is none is refused', async () => {
  const print = async (raw: string) =>
    await run({ command: ['printenv', 'JSON'], output: 'json', env: { JSON: JSON.stringify({ parts: [{ raw }] }) } });
  for (const raw of ['/+/+/w==', '/+/+/w', '_-_-_w', '/+/+\n/w==\n']) {
    expect((await print(raw)).io.events).toMatchObject([{ artifact: { parts: [{ raw: '/+/+/w==' }] } }]);
  }
  for (const raw of ['a file!', 'abcde']) {
    const said = expect.stringContaining('parts.0.raw: it must be base64');
    expect(await print(raw)).toMatchObject({ end: { state: 'failed' }, said });
  }
});

test('a shell does not take the caller for a remote login: nothing of ~/.bashrc is in the answer', async () => {
  const home = mkdtempSync(join(tmpdir(), 'sealane-home-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  writeFileSync(join(home, '.bashrc'), 'echo welcome\n');
  const { text } = await run({ command: ['bash', '-c', 'echo answer'], env: { HOME: home } });
  expect(text).toBe('answer\n');
});

test.runIf(process.platform === 'linux').for([
  ['sh', '-c', 'cat /dev/stdin'],
  ['sh', '-c', 'set -e; echo no > /dev/stderr'],
  [process.execPath, '-e', `fs.readFileSync('/dev/stdin')`],
])('a program that opens its streams by name is told what to do: %s %s %s', async (command) => {
  const { end, said } = await run({ command });
  expect(end).toMatchObject({ state: 'failed', reason: 'exit-code' });
  expect(said).toContain('are sockets, which Linux does not open by name');
});

test('why a program cannot be started is told without its environment', async () => {
  const streams = await openChildStreams();
  onTestFinished(() => streams.destroy());
  const env = { ...process.env, KEY: 'sec\0ret' } as Record<string, string>;
  const started = await startProgram({ program: 'cat', args: [], cwd: '/', env, streams });
  expect(started).toMatchObject({ ok: false, detail: expect.stringMatching(/cat cannot be started/) as string });
  expect(JSON.stringify(started)).not.toContain('sec');
});

test('a program that breaks down while it answers fails, and what it said before stays', async () => {
  const said = ['one ', 'two'].map((text) => `${JSON.stringify({ text })}\n`).join('');
  for (const last of ['Traceback (most recent call last):\n', 'no end of line']) {
    const { end, text } = await run({ output: 'jsonl', command: ['printf', '%s', `${said}${last}`] });
    expect(end).toMatchObject({ state: 'failed', reason: 'bad-output' });
    expect(text).toBe('one two');
  }
});
