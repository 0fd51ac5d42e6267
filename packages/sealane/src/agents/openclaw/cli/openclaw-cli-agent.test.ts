import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';

import { textOf } from '#domain';

import type { AgentConnector, Turn } from '../../agent-connector.ts';
import { recordedIo, textOfArtifact, turnOf } from '../../command/recorded-run.fixture.ts';
import type { CliInput } from './cli-options.ts';
import { createOpenclawCliAgent } from './openclaw-cli-agent.ts';
import { openScriptedOpenclaw } from './scripted-openclaw.fixture.ts';

const program = openScriptedOpenclaw();
const agents: AgentConnector[] = [];
afterEach(() => vi.unstubAllEnvs());
afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.close()));
  program[Symbol.dispose]();
});

const agentOf = (options: CliInput = {}): AgentConnector => {
  const agent = createOpenclawCliAgent({ path: program.path, stateDir: join(program.directory, 'state'), ...options });
  agents.push(agent);
  return agent;
};

const ask = (text: string, rest: Partial<Turn> = {}): Turn =>
  turnOf(text, { session: 'a2a-x-1', permission: 'agent-default', ...rest });

const printing = (value: unknown, more: Readonly<Record<string, string>> = {}): CliInput => ({
  env: { STDOUT: typeof value === 'string' ? value : JSON.stringify(value), ...more },
});
const HELLO = { payloads: [{ text: 'hello', mediaUrl: null }], meta: {} };

const run = async (options: CliInput, turn = ask('hi'), io = recordedIo()) => {
  const end = await agentOf(options).run(turn, io);
  return { end, io, said: textOf(end.message?.parts ?? []), start: program.starts().at(-1) };
};

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe('how the program is started', () => {
  it('with all settings, and every value bound to its flag', async () => {
    vi.stubEnv('SEALANE_ADMIN_KEY', 'secret');
    vi.stubEnv('FAKE_API_KEY', 'for-the-model');
    const { end, start } = await run({ ...printing(HELLO), agentId: 'main', workingDirectory: program.directory });
    expect(end.state).toBe('completed');
    expect(start?.args.join(' ')).toBe(
      'agent --local --json --session-id=a2a-x-1 --agent=main --thinking=low --timeout=300 --message=hi',
    );
    expect(start?.env).toMatchObject({
      OPENCLAW_NO_RESPAWN: '1',
      OPENCLAW_STATE_DIR: join(program.directory, 'state'),
      FAKE_API_KEY: 'for-the-model',
    });
    expect(start?.env).not.toHaveProperty('SEALANE_ADMIN_KEY');
  });

  it.each([
    ['--help', '--message=--help'],
    ['-m "$(touch x)"; {session}', '--message=-m "$(touch x)"; {session}'],
    ['/new', String.raw`--message=\/new`],
    ['  /compact now', String.raw`--message=  \/compact now`],
  ])('with the message %s as nothing but text', async (text, argument) => {
    const { start } = await run(printing(HELLO), ask(text));
    expect(start?.args.at(-1)).toBe(argument);
  });

  it('with a message that is too long for an argument in a file, which is gone afterwards', async () => {
    const long = 'ä'.repeat(150_000);
    const { end, start } = await run(printing(HELLO), ask(long));
    expect(end.state).toBe('completed');
    expect(start?.file).toBe(long);
    const file = start?.args.at(-1)?.replace('--message-file=', '') ?? '';
    expect(file).not.toBe('');
    expect(existsSync(dirname(file))).toBe(false);
  });

  it('without --local and without waiting for others where a Gateway does the work', async () => {
    const { start } = await run({ ...printing({ status: 'ok', result: HELLO }), local: false });
    expect(start?.args).not.toContain('--local');
  });
});

describe('who is served', () => {
  it.each(['read-only', 'guarded', 'workspace'] as const)('not a key with the permission %s', async (permission) => {
    const before = program.starts().length;
    const { end, said } = await run(printing(HELLO), ask('hi', { permission }));
    expect(end).toMatchObject({ state: 'rejected', reason: 'refused' });
    expect(said).toMatch(/agent-default.*trustCallers.*via: gateway/);
    expect(program.starts()).toHaveLength(before);
  });

  it('everybody, when the operator says so', async () => {
    const { end } = await run({ ...printing(HELLO), trustCallers: true }, ask('hi', { permission: 'read-only' }));
    expect(end.state).toBe('completed');
  });

  it('nobody who sends an image, which the program cannot take', async () => {
    const turn = ask('look');
    const image = { raw: 'aGk=', mediaType: 'image/png', filename: 'x.png' };
    const { end, said } = await run(
      printing(HELLO),
      ask('', { message: { ...turn.message, parts: [{ text: 'look' }, image] } }),
    );
    expect(end).toMatchObject({ state: 'rejected', reason: 'bad-message' });
    expect(said).toContain('no images');
  });
});

describe('what comes of a run', () => {
  it('an answer of whole characters, also where OpenClaw has printed half of one', async () => {
    const { io } = await run(printing(String.raw`{"payloads":[{"text":"a \ud83d b"}],"meta":{}}`));
    expect(textOfArtifact(io.events, 'answer-1')).toBe('a \ufffd b');
  });

  it('an answer with the files that may be sent, and the names of those that may not', async () => {
    const workspaceDir = join(program.directory, 'workspace');
    mkdirSync(workspaceDir, { recursive: true });
    writeFileSync(join(workspaceDir, 'note.txt'), 'milk');
    const meta = { agentMeta: { model: 'echo' }, systemPromptReport: { workspaceDir } };
    const payloads = [{ text: 'here', mediaUrls: ['./note.txt', '/etc/hostname'] }];
    const { end, io } = await run(printing({ payloads, meta }));
    expect(textOfArtifact(io.events, 'answer-1')).toBe('here');
    expect(io.events.at(-1)).toMatchObject({
      artifact: { parts: [{ raw: 'bWlsaw==', mediaType: 'text/plain', filename: 'note.txt' }] },
      append: true,
      lastChunk: true,
    });
    expect(end.metadata).toEqual({ openclaw: { model: 'echo', filesNotSent: ['hostname'] } });
  });

  it('a message instead of a task, with text and files, when the caller waits', async () => {
    const options = {
      ...printing({ payloads: [{ text: 'see', mediaUrl: 'https://files.example/cat.png' }], meta: {} }),
      asyncMode: false,
    };
    expect(agentOf(options).answersDirectly?.(ask('hi').message)).toBe(true);
    expect((await run(options)).end.message?.parts).toEqual([
      { text: 'see' },
      { url: 'https://files.example/cat.png', mediaType: 'image/png', filename: 'cat.png' },
    ]);
  });

  it.each([
    ['an exit code 2 with a timeout', { ok: false, status: 'timeout' }, '2', 'timeout', false],
    ['an exit code 1 with a refusal', { ok: false, error: { message: 'no' } }, '1', 'agent', false],
    ['an exit code 1 after a good answer', HELLO, '1', 'agent', false],
    ['an exit code 137 and nothing else', '', '137', 'signal', true],
    ['an exit code 143 and nothing else', '', '143', 'signal', true],
    ['an exit code 1 and nothing else', '', '1', 'agent', false],
    ['an exit code 0 and nothing else', '', '0', 'bad-output', false],
    ['an exit code 0 with words', 'Usage: openclaw', '0', 'bad-output', false],
  ])('a failure of %s', async (_, value, EXIT, reason, retryable) => {
    const { end, io } = await run(printing(value, { EXIT, STDERR: '\u001B[31mwarning\u001B[0m' }));
    expect(end).toMatchObject({ state: 'failed', reason, retryable });
    expect(textOf(end.message?.parts ?? [])).not.toContain('\u001B');
    expect(io.events).toEqual([]);
  });

  it('a failure that says what to install or correct, to the operator only, when there is no program', async () => {
    const { end, said } = await run({ path: 'openclaw-that-is-not-there' });
    expect(end).toMatchObject({ state: 'failed', reason: 'not-started', retryable: false });
    expect(end.detail).toMatch(/openclaw-that-is-not-there is not in PATH .*`path`/);
    expect(said).toMatch(/^The program of this agent is missing\./);
  });

  it('a failure by timeout, and a process that is dead', async () => {
    const { end, said, start } = await run({ ...printing(HELLO, { WAIT_MS: '60000' }), timeoutSeconds: 1 });
    expect(end).toMatchObject({ state: 'failed', reason: 'timeout', retryable: false });
    expect(said).toContain('timed out after 1 s');
    expect(isAlive(start?.pid ?? 0)).toBe(false);
  });

  it('nothing after a cancel, and a process that is dead', async () => {
    const io = recordedIo();
    const before = program.starts().length;
    const running = run(printing(HELLO, { WAIT_MS: '60000' }), ask('hi'), io);
    await vi.waitFor(() => expect(program.starts()).toHaveLength(before + 1), { timeout: 20_000 });
    io.abort();
    const { end, start } = await running;
    expect(end).toEqual({ state: 'canceled' });
    expect(isAlive(start?.pid ?? 0)).toBe(false);
  });

  it('a run that another instance can stop, except where a Gateway may go on with it', async () => {
    const local = await run(printing(HELLO));
    const remote = await run({ ...printing({ status: 'ok', result: HELLO }), local: false });
    const signal = AbortSignal.timeout(20_000);
    expect(await agentOf().stop(local.io.refs[0] ?? {}, signal)).toBe('dead');
    expect(await agentOf().stop(remote.io.refs[0] ?? {}, signal)).toBe('unknown');
  });
});

describe('one state directory', () => {
  it('has one run at a time, across agents, and tells who waits', async () => {
    const options = printing(HELLO, { WAIT_MS: '300' });
    const [first, second] = [recordedIo(), recordedIo()];
    const before = program.starts().length;
    const running = agentOf(options).run(ask('one'), first);
    const waiting = agentOf(options).run(ask('two', { session: 'a2a-y-2' }), second);
    await second.until((event) => event.kind === 'status');
    await running;
    expect(program.starts()).toHaveLength(before + 1);
    expect((await waiting).state).toBe('completed');
    expect(program.starts()).toHaveLength(before + 2);
  });

  it('for each lane lets them run at the same time', async () => {
    const agent = agentOf({ ...printing(HELLO, { WAIT_MS: '60000' }), stateDirPerLane: true });
    const before = program.starts().length;
    const running = ['a2a-y-1', 'a2a-y-2'].map((session) => {
      const io = recordedIo();
      return { io, end: agent.run(ask('hi', { session }), io) };
    });
    await vi.waitFor(() => expect(program.starts()).toHaveLength(before + 2), { timeout: 20_000 });
    for (const { io } of running) io.abort();
    await Promise.all(running.map(({ end }) => end));
    const dirs = program.starts().slice(before);
    expect(new Set(dirs.map(({ env }) => env['OPENCLAW_STATE_DIR'])).size).toBe(2);
  });

  it('is refused for each lane behind a Gateway, which has one', () => {
    expect(() => createOpenclawCliAgent({ local: false, stateDirPerLane: true })).toThrow('one state directory');
  });
});

describe('health', () => {
  it('names the version and warns of trust', async () => {
    const detail = `OpenClaw 2026.9.6 at ${program.path}.`;
    expect(await agentOf().health?.()).toEqual({ ok: true, detail });
    expect((await agentOf({ trustCallers: true }).health?.())?.detail).toContain('trustCallers is on');
  });

  it('says what is wrong with the program', async () => {
    expect(await agentOf({ path: 'openclaw-that-is-not-there' }).health?.()).toMatchObject({ ok: false });
    const other = await agentOf({ path: process.execPath }).health?.();
    expect(other).toMatchObject({ ok: false });
    expect(other?.detail).toContain('is not OpenClaw');
  });
});

it.each<CliInput>([
  { path: 'open\0claw' },
  { workingDirectory: '/tmp\0' },
  { stateDir: 'a\0b' },
  { env: { TOKEN: 't\0o' } },
  { env: { 'A=B': 'x' } },
  { mediaRoots: ['\0'] },
  { killGraceMs: 2 ** 31 },
  { beatLimitMs: 2 ** 31 },
])('an agent whose program could never be started or ended by its options is refused: %j', (options) => {
  expect(() => createOpenclawCliAgent(options)).toThrow(Object.keys(options)[0]);
});
