import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { expect, test } from 'vitest';

import {
  openScriptedGateway,
  type ScriptedGateway,
  type ScriptedReply,
  type ScriptedRequest,
} from '#agents/openclaw/gateway/scripted-gateway.fixture';

import { setUpCommandLine, type CommandLine } from '../command-line.fixture.ts';

const TOKEN = 'tok-very-secret-42';

/** No OpenClaw of the machine that runs the tests. */
const NO_OPENCLAW = {
  PATH: '/nowhere',
  OPENCLAW_CONFIG_PATH: '',
  OPENCLAW_STATE_DIR: '',
  OPENCLAW_GATEWAY_TOKEN: '',
  OPENCLAW_GATEWAY_PORT: '',
};

const openGateway = (script: (request: ScriptedRequest) => ScriptedReply | undefined = () => undefined) =>
  openScriptedGateway((request) => {
    const reply = script(request);
    if (reply) return reply;
    const { token } = (request.params['auth'] ?? {}) as { token?: string };
    if (request.method === 'connect' && token !== TOKEN)
      return { error: { code: 'INVALID_REQUEST', message: 'unauthorized: gateway token mismatch' } };
    return request.method === 'agents.list' ? { payload: { agents: [{ id: 'main' }, { id: 'support' }] } } : undefined;
  });

const portOf = ({ url }: ScriptedGateway): number => Number(new URL(url).port);

const writeOpenclaw = (cli: CommandLine, config: string): string => {
  const file = join(cli.home, '.openclaw', 'openclaw.json');
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, config);
  return file;
};

const configFor = (port: number, token = TOKEN): string =>
  `{\n  // by hand\n  gateway: { port: ${port}, auth: { mode: 'token', token: '${token}', }, },\n}\n`;

const run = (cli: CommandLine, args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  cli.run(args, { env: { ...NO_OPENCLAW, ...env } });

const at = (cli: CommandLine, name: string): string => join(cli.home, '.sealane', name);
const modeOf = (file: string): string => (statSync(file).mode & 0o777).toString(8);

interface Result {
  readonly ok: boolean;
  readonly agent: string;
  readonly tokenFile: string | null;
  readonly kept: string | null;
  readonly content?: string;
  readonly openclaw: { readonly url: string; readonly agents: readonly string[] } | null;
  readonly checks: readonly { readonly name: string; readonly level: string; readonly next?: string }[];
  readonly next: readonly string[];
}
const levels = (stdout: string) => (JSON.parse(stdout) as Result).checks.map(({ name, level }) => [name, level]);

test('OpenClaw is found, its configuration written and checked, and the token never shown', async () => {
  await using gateway = await openGateway();
  using cli = setUpCommandLine();
  const openclaw = writeOpenclaw(cli, configFor(portOf(gateway)));
  const { code, stdout, stderr } = await run(cli, ['init']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/✓ gateway +OpenClaw scripted answers[^]*✓ token[^]*✓ agent +main[^]*✓ sessions/);
  expect(stdout).toMatch(
    /sealane serve +# start[^]*sealane send --agent main hello +#[^]*sealane invite NAME --agent main +#/,
  );

  const text = readFileSync(at(cli, 'sealane.yaml'), 'utf8');
  expect(text).toContain(`url: "${gateway.url}"`);
  expect(text).toContain(openclaw);
  expect(text).toContain('token: file:openclaw.token');
  const settings = text.split('\n').filter((line) => /^ {4}\w/.test(line));
  expect(settings.length).toBeGreaterThan(5);
  expect(text.split('\n').filter((line) => /^ *#/.test(line)).length).toBeGreaterThan(settings.length);
  expect(readFileSync(at(cli, 'openclaw.token'), 'utf8')).toBe(`${TOKEN}\n`);
  expect([modeOf(at(cli, 'sealane.yaml')), modeOf(at(cli, 'openclaw.token')), modeOf(at(cli, ''))]).toEqual([
    '600',
    '600',
    '700',
  ]);
  expect((await run(cli, ['config', 'check'])).stdout).toContain('is right');
  const shown = await run(cli, ['config', 'show', '--json']);
  for (const seen of [stdout, text, shown.stdout]) expect(seen).not.toContain(TOKEN);
  // The check asks for no more than the service does.
  expect(gateway.of('connect').map(({ params }) => params['scopes'])).toEqual([['operator.read', 'operator.write']]);
});

test('--json tells the same as data', async () => {
  await using gateway = await openGateway();
  using cli = setUpCommandLine();
  writeOpenclaw(cli, configFor(portOf(gateway)));
  const { code, stdout } = await run(cli, ['init', '--json', '--agent', 'support', '--data-dir', 'here']);
  expect(code).toBe(0);
  expect(stdout).not.toContain(TOKEN);
  expect(JSON.parse(stdout)).toMatchObject({
    ok: true,
    agent: 'support',
    file: join(cli.home, 'here', 'sealane.yaml'),
    tokenFile: join(cli.home, 'here', 'openclaw.token'),
    kept: null,
    openclaw: { url: gateway.url, agents: ['main'] },
    next: [
      'sealane serve --data-dir here',
      'sealane send --agent support hello --data-dir here',
      'sealane invite NAME --agent support --data-dir here',
    ],
  });
  expect(levels(stdout)).toEqual([
    ['gateway', 'ok'],
    ['token', 'ok'],
    ['agent', 'ok'],
    ['sessions', 'ok'],
    ['message tool', 'advice'],
  ]);
});

test('a token that OpenClaw takes from a variable is taken from there', async () => {
  await using gateway = await openGateway();
  using cli = setUpCommandLine();
  writeOpenclaw(cli, configFor(portOf(gateway), '${OPENCLAW_GATEWAY_TOKEN}'));
  const unset = await run(cli, ['init', '--json', '--data-dir', 'unset']);
  expect([unset.code, levels(unset.stdout)]).toEqual([7, [['token', 'failed']]]);
  expect(unset.stdout).toContain('export OPENCLAW_GATEWAY_TOKEN=…');

  const { code, stdout } = await run(cli, ['init', '--json'], { OPENCLAW_GATEWAY_TOKEN: TOKEN });
  expect([code, (JSON.parse(stdout) as Result).tokenFile]).toEqual([0, null]);
  expect(readFileSync(at(cli, 'sealane.yaml'), 'utf8')).toContain('token: "${OPENCLAW_GATEWAY_TOKEN}"');
  expect((await run(cli, ['config', 'check'], { OPENCLAW_GATEWAY_TOKEN: TOKEN })).code).toBe(0);

  // A shell does not see what OpenClaw reads from its own .env.
  writeFileSync(join(cli.home, '.openclaw', '.env'), `OPENCLAW_GATEWAY_TOKEN="${TOKEN}"\n`);
  expect((await run(cli, ['init', '--data-dir', 'copied'])).code).toBe(0);
  expect(readFileSync(join(cli.home, 'copied', 'openclaw.token'), 'utf8')).toBe(`${TOKEN}\n`);
  expect((await run(cli, ['config', 'check', '--data-dir', 'copied'])).code).toBe(0);
});

test('a configuration that exists is kept, unless --force; then a copy is', async () => {
  await using gateway = await openGateway();
  using cli = setUpCommandLine();
  writeOpenclaw(cli, configFor(portOf(gateway)));
  mkdirSync(at(cli, ''), { mode: 0o700 });
  writeFileSync(at(cli, 'sealane.yaml'), 'port: 7421\n');
  const refused = await run(cli, ['init', '--yes']);
  expect([refused.code, refused.stdout]).toEqual([1, '']);
  expect(refused.stderr).toMatch(/sealane\.yaml exists already\.\nnext: {2}sealane init --print/);
  expect(readdirSync(at(cli, ''))).toEqual(['sealane.yaml']);

  const forced = await run(cli, ['init', '--force', '--json']);
  expect(forced.code).toBe(0);
  const { kept } = JSON.parse(forced.stdout) as Result;
  expect(readFileSync(kept ?? '', 'utf8')).toBe('port: 7421\n');

  // The token that lies there may be somebody's, too.
  mkdirSync(join(cli.home, 'other'), { mode: 0o700 });
  writeFileSync(join(cli.home, 'other', 'openclaw.token'), 'of-another\n');
  const foreign = await run(cli, ['init', '--data-dir', 'other']);
  expect([foreign.code, foreign.stderr]).toEqual([1, expect.stringContaining('openclaw.token exists already')]);
  expect(readdirSync(join(cli.home, 'other'))).toEqual(['openclaw.token']);
  expect((await run(cli, ['init', '--data-dir', 'other', '--force'])).code).toBe(0);

  const again = await run(cli, ['init']);
  expect(again.stderr).toMatch(/exists already, with OpenClaw as the agent main\.\nnext: {2}sealane doctor/);
});

test('--print shows the configuration, and writes and asks nothing', async () => {
  await using gateway = await openGateway();
  using cli = setUpCommandLine();
  writeOpenclaw(cli, configFor(portOf(gateway)));
  const { code, stdout } = await run(cli, ['init', '--print']);
  expect(code).toBe(0);
  expect(stdout).toContain('connector: openclaw');
  expect(stdout).not.toContain(TOKEN);
  expect(gateway.requests).toEqual([]);
  expect(readdirSync(cli.home)).not.toContain('.sealane');
});

test('without OpenClaw it says so, and the echo agent is there to try', async () => {
  using cli = setUpCommandLine();
  const { code, stderr } = await run(cli, ['init']);
  expect([code, stderr]).toEqual([
    8,
    expect.stringMatching(/There is no OpenClaw here[^]*next: {2}sealane init --echo/),
  ]);
  expect(readdirSync(cli.home)).not.toContain('.sealane');
  const echo = await run(cli, ['init', '--echo']);
  expect([echo.code, echo.stdout]).toEqual([0, expect.stringContaining('sealane send --agent echo hello')]);
  expect((await run(cli, ['config', 'check'])).stdout).toContain('is right');
  expect((await run(cli, ['init', '--yes', '--data-dir', 'other'])).code).toBe(0);
});

test('a program without a configuration is seen, and what is missing is said', async () => {
  using cli = setUpCommandLine();
  const program = join(cli.home, 'bin', 'openclaw');
  mkdirSync(dirname(program));
  writeFileSync(program, '#!/bin/sh\nexit 1\n');
  chmodSync(program, 0o755);
  const { code, stdout, stderr } = await run(cli, ['init'], { PATH: dirname(program) });
  expect([code, stderr]).toEqual([7, expect.stringContaining('openclaw onboard')]);
  expect(stdout).toContain(program);
  expect(stdout).toMatch(/✗ token +OpenClaw has no gateway\.auth\.token\./);
  expect(readFileSync(at(cli, 'sealane.yaml'), 'utf8')).toContain('url: "ws://127.0.0.1:18789"');
});

test.each([
  [
    'a wrong token',
    7,
    /✗ token .*does not accept the token/,
    { method: 'connect', error: { code: 'INVALID_REQUEST', message: 'unauthorized: gateway token mismatch' } },
  ],
  [
    'an agent that OpenClaw does not know',
    8,
    /✗ agent +OpenClaw has no agent "main"; it has other\n/,
    { method: 'agents.list', payload: { agents: [{ id: 'other' }] } },
  ],
  [
    'sessions that are not confined',
    0,
    /! sessions .*keys of others are refused.*\n +next: openclaw config set tools\.sessions\.visibility self/,
    { method: 'config.get', payload: { config: {} } },
  ],
  [
    'something that is no Gateway',
    6,
    /✗ gateway .*no OpenClaw Gateway that we understand/,
    { method: 'connect', payload: {} },
  ],
])('%s: it is told with what to do, and the configuration is written', async (_name, expected, told, reply) => {
  await using gateway = await openGateway(({ method }) => (method === reply.method ? reply : undefined));
  using cli = setUpCommandLine();
  writeOpenclaw(cli, configFor(portOf(gateway)));
  const { code, stdout, stderr } = await run(cli, ['init']);
  expect({ code, stderr, stdout }).toEqual({ code: expected, stderr: '', stdout: expect.stringMatching(told) });
  expect(stdout).not.toContain(TOKEN);
  expect((await run(cli, ['config', 'check'])).code).toBe(0);
});

test('a Gateway that is down: how to start it; --no-check does not ask it', async () => {
  const gateway = await openGateway();
  await gateway[Symbol.asyncDispose]();
  using cli = setUpCommandLine();
  writeOpenclaw(cli, configFor(portOf(gateway)));
  const { code, stdout } = await run(cli, ['init']);
  expect([code, stdout]).toEqual([
    6,
    expect.stringMatching(/✗ gateway .*cannot be reached.*\n +next: openclaw gateway run/),
  ]);
  expect(stdout).toContain(at(cli, 'sealane.yaml'));
  const unchecked = await run(cli, ['init', '--no-check', '--json', '--data-dir', 'other']);
  expect([unchecked.code, levels(unchecked.stdout)]).toEqual([0, []]);
});

test('doctor looks at the Gateway of each agent, and warns of trusted callers', async () => {
  await using gateway = await openGateway(({ method }) =>
    method === 'config.get' ? { payload: { config: { tools: { deny: ['message'] } } } } : undefined,
  );
  using cli = setUpCommandLine();
  mkdirSync(at(cli, ''), { mode: 0o700 });
  writeFileSync(
    at(cli, 'sealane.yaml'),
    `agents:
  main: { connector: openclaw, via: gateway, url: "${gateway.url}", token: ${TOKEN}, default: true }
  wrong: { connector: openclaw, via: gateway, url: "${gateway.url}", token: other }
  open: { connector: openclaw, via: cli, trustCallers: true }
`,
  );
  const { stdout } = await run(cli, ['doctor'], { SEALANE_PORT: '1' });
  expect(stdout).toMatch(/✓ openclaw main gateway: OpenClaw scripted answers.*message tool: denied/);
  expect(stdout).toMatch(/✗ openclaw main sessions: .*\n +next: openclaw config set tools\.sessions\.visibility self/);
  expect(stdout).toMatch(/✗ openclaw wrong token: .*does not accept/);
  expect(stdout).toMatch(/! openclaw open trustCallers is on.*\n +next: use `via: gateway`/);
  expect(stdout).not.toContain(TOKEN);
});
