import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, it } from 'vitest';

import { type CliSetup, setUpCli } from '../../packages/sealane/src/cli/cli-harness.fixture.ts';
import { freePort } from './gateway-process.ts';
import { type OpenclawWorld, openOpenclawWorld } from './openclaw-world.ts';

/** From a running Gateway to an invited peer, by the commands that the guide names and nothing else. */
let world: OpenclawWorld;
let cli: CliSetup;

beforeAll(async () => {
  world = await openOpenclawWorld();
  cli = setUpCli();
});

afterAll(async () => {
  cli?.[Symbol.dispose]();
  await world?.[Symbol.asyncDispose]();
});

const openclawConfig = (): string => join(world.gateway.home, 'openclaw.json');
const sealane = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  cli.run(args, { env: { OPENCLAW_CONFIG_PATH: openclawConfig(), ...env } });

it('init finds the Gateway and its token, checks them live, and writes what serve needs', async () => {
  const { code, stdout, stderr } = await sealane(['init', '--yes', '--json']);
  expect(stderr).toBe('');
  expect(code).toBe(0);
  const { agent, checks } = JSON.parse(stdout) as {
    readonly agent: string;
    readonly checks: readonly { readonly name: string; readonly level: string; readonly detail: string }[];
  };
  expect(agent).toBe('main');
  expect(checks.map(({ name, level }) => `${name} ${level}`)).toEqual([
    'gateway ok',
    'token ok',
    'agent ok',
    'sessions ok',
    'message tool advice',
  ]);
  expect(checks[0]?.detail).toContain('OpenClaw 2026.9.6');
  expect(stdout).not.toContain(world.gateway.token);
  const config = readFileSync(join(cli.home, '.sealane/sealane.yaml'), 'utf8');
  expect(config).toContain(world.gateway.url);
  expect(config).not.toContain(world.gateway.token);
  expect(statSync(join(cli.home, '.sealane/openclaw.token')).mode & 0o077).toBe(0);
});

it('serve, doctor and send work with what it wrote, and an invited peer is answered', async () => {
  const port = await freePort();
  const SEALANE_URL = `http://127.0.0.1:${port}`;
  const service = cli.start(['serve', '--port', String(port)]);
  await service.saw('sealane ready on');
  const doctor = await sealane(['doctor'], { SEALANE_URL });
  expect(doctor.stdout).toContain('OpenClaw 2026.9.6');
  const sent = await sealane(['send', 'hello from the owner'], { SEALANE_URL });
  expect(sent.stdout).toContain('ECHO(turn 1): hello from the owner');

  const invited = await sealane(['invite', 'hermes', '--json'], { SEALANE_URL });
  const { key, agents } = JSON.parse(invited.stdout) as {
    readonly key: string;
    readonly agents: readonly { readonly url: string }[];
  };
  const answer = await fetch(agents[0]?.url ?? '', {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'SendMessage',
      params: { message: { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'hello from a peer' }] } },
    }),
  });
  expect(await answer.text()).toContain('ECHO(turn 1): hello from a peer');
  service.child.kill('SIGTERM');
  expect((await service.done).code).toBe(0);
});

it('init says which of its findings keeps messages out: a wrong token, a closed door, an unknown agent', async () => {
  const init = async (change: (config: string) => string, ...args: readonly string[]) => {
    const place = join(cli.home, 'other.json');
    writeFileSync(place, change(readFileSync(openclawConfig(), 'utf8')));
    const words = ['init', '--yes', '--json', '--config', join(cli.home, 'other.yaml'), '--force', ...args];
    const { code, stdout } = await sealane(words, { OPENCLAW_CONFIG_PATH: place });
    const { checks } = JSON.parse(stdout) as { checks: readonly { name: string; level: string; detail: string }[] };
    return { code, failed: checks.filter(({ level }) => level === 'failed' || level === 'warning') };
  };
  const wrongToken = await init((config) => config.replace(world.gateway.token, 'another token'));
  expect(wrongToken.failed).toMatchObject([{ name: 'token' }]);
  expect(wrongToken.code).not.toBe(0);

  const nobody = await freePort();
  const port = new URL(world.gateway.httpUrl).port;
  const closed = await init((config) => config.replace(`"port": ${port}`, `"port": ${nobody}`));
  expect(closed.failed).toMatchObject([{ name: 'gateway' }]);

  const stranger = await init((config) => config, '--agent', 'nobody');
  expect(stranger.failed).toMatchObject([{ name: 'agent', detail: expect.stringContaining('it has main') as string }]);
});
