import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { createOpenclawCliAgent } from '#agents/openclaw/cli/openclaw-cli-agent';
import type { CliInput } from '#agents/openclaw/cli/cli-options';

import {
  answerOf,
  createA2aClient,
  sendParams,
  statusTextOf,
  type WireMessage,
  type WireTask,
} from '../support/a2a-client.ts';
import { eventually } from '../support/eventually.ts';
import { ADMIN_KEY, openService, type TestService } from '../support/service.ts';
import type { CliHostConfig } from './cli-host.ts';
import { OPENCLAW_ENTRY, OPENCLAW_VERSION } from './installed-openclaw.ts';
import { type OpenclawWorld, openOpenclawWorld } from './openclaw-world.ts';

/** A start of the program takes about ten seconds of a processor, so every run here has several things to show. */
const RUN_MS = 60_000;
const HOST = fileURLToPath(new URL('cli-host.ts', import.meta.url));

let world: OpenclawWorld;
const open = new Set<TestService>();

beforeAll(async () => {
  world = await openOpenclawWorld({ started: false });
  writeFileSync(join(world.gateway.workspace, 'cat.png'), 'meow');
});
afterEach(async () => {
  for (const service of open) await service.close();
  open.clear();
});
afterAll(() => world?.[Symbol.asyncDispose]());

/** Nothing of the person at this machine reaches the program. */
const connector = (options: CliInput = {}): CliInput => ({
  path: OPENCLAW_ENTRY,
  inheritEnv: false,
  stateDir: join(world.gateway.home, 'state'),
  ...options,
  env: {
    PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
    HOME: world.gateway.home,
    OPENCLAW_CONFIG_PATH: join(world.gateway.home, 'openclaw.json'),
    ...options.env,
  },
});

const serve = async (options: CliInput = {}, store = 'memory'): Promise<TestService> => {
  const service = await openService({
    store,
    agents: { main: { connector: createOpenclawCliAgent(connector(options)), default: true } },
    settings: { cancelGraceMs: 20_000, leaseMs: 2000, renewMs: 500 },
  });
  open.add(service);
  return service;
};

const stateOf = (task: WireTask): string => task.status.state;

/** Live processes in this test's home that have a variable; a Gateway and its children have all but Sealane's. */
const programs = (variable = 'HOME'): readonly number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const environ = `\0${readFileSync(`/proc/${pid}/environ`, 'utf8')}`;
        return environ.includes(`\0HOME=${world.gateway.home}\0`) && environ.includes(`\0${variable}=`);
      } catch {
        return false;
      }
    })
    .map(Number);

const modelIsAsked = (about: string) =>
  eventually(() => {
    const [call] = world.model.about(about);
    if (!call) throw new Error(`The model was not asked about ${about}.`);
    return call;
  }, RUN_MS);

describe('the openclaw program', () => {
  it('answers two contexts one after the other, remembers each, and takes every message for text', async () => {
    const { client } = await serve();
    const contextId = `Case-${randomUUID()}`;
    const [one, two] = await Promise.all([
      client.send('SLOW2 first', { contextId }),
      client.send('SLOW2 second', { contextId: contextId.toLowerCase() }),
    ]);
    expect(answerOf(one)).toMatch(/^(tick \d )+ECHO\(turn 1\): SLOW2 first$/);
    expect(answerOf(two)).toMatch(/^(tick \d )+ECHO\(turn 1\): SLOW2 second$/);
    expect(statusTextOf(one)).toBe(answerOf(one));
    expect(one.metadata).toMatchObject({
      openclaw: { provider: 'fake', model: 'echo', usage: { input: 11, output: 7 } },
    });
    const [first, second] = ['first', 'second'].map((text) => world.model.about(text)[0]?.startedAt ?? 0);
    // The model alone takes two seconds for each, and a second program would have failed in the meantime.
    expect(Math.abs((second ?? 0) - (first ?? 0))).toBeGreaterThan(2000);

    const command = await client.send('/new --help', { contextId });
    expect(answerOf(command)).toBe(String.raw`ECHO(turn 2): \/new --help`);
    expect(programs()).toEqual([]);
  }, 240_000);

  it('answers with a Message and its files when the caller waits for it', async () => {
    const { client } = await serve({ asyncMode: false });
    const { message } = await client.call<{ message: WireMessage }>(
      'SendMessage',
      sendParams('a picture\nMEDIA:./cat.png', {}, {}),
    );
    expect(message.parts).toEqual([
      { text: 'Here it is.' },
      { raw: Buffer.from('meow').toString('base64'), mediaType: 'image/png', filename: 'cat.png' },
    ]);
  });

  it('is dead after a cancel, and the model is no longer asked', async () => {
    const { client } = await serve();
    const { id } = await client.submit('SLOW60 cancel-me');
    const call = await modelIsAsked('cancel-me');
    expect(stateOf(await client.cancel(id))).toBe('TASK_STATE_CANCELED');
    expect(programs()).toEqual([]);
    await eventually(() => expect(call.aborted).toBe(true));
  });

  it('is dead after its timeout, and the task says so', async () => {
    const { client } = await serve({ timeoutSeconds: 20 });
    const task = await client.send('SLOW90 too-long');
    expect(stateOf(task)).toBe('TASK_STATE_FAILED');
    expect(statusTextOf(task)).toContain('timed out after 20 s');
    expect(programs()).toEqual([]);
  });

  it('fails with the reason of the model in one lane while another, with its own state, answers', async () => {
    const { client } = await serve({ stateDirPerLane: true });
    const [refused, answered] = await Promise.all([client.send('FAIL401 please'), client.send('SLOW2 beside')]);
    expect(stateOf(refused)).toBe('TASK_STATE_FAILED');
    expect(statusTextOf(refused)).toContain('HTTP 401');
    expect(stateOf(answered)).toBe('TASK_STATE_COMPLETED');
    expect(answerOf(answered)).toContain('ECHO(turn 1): SLOW2 beside');
  });

  it('fails for an agent that OpenClaw does not know', async () => {
    const { client } = await serve({ agentId: 'nope' });
    const task = await client.send('who is there');
    expect(stateOf(task)).toBe('TASK_STATE_FAILED');
    expect(statusTextOf(task)).toMatch(/Unknown agent id "nope"[\s\S]*agentId/);
  });

  it('fails when it is not there, and its health says what to do', async () => {
    const service = await serve({ path: '/nowhere/openclaw' });
    const task = await service.client.send('hello');
    expect(stateOf(task)).toBe('TASK_STATE_FAILED');
    expect(statusTextOf(task)).toContain('The program of this agent is missing.');
    const missing = createOpenclawCliAgent(connector({ path: '/nowhere/openclaw' }));
    const there = createOpenclawCliAgent(connector());
    expect(await missing.health?.()).toMatchObject({
      ok: false,
      detail: expect.stringContaining('Install it, or correct `path`.') as string,
    });
    expect(await there.health?.()).toEqual({ ok: true, detail: `OpenClaw ${OPENCLAW_VERSION} at ${OPENCLAW_ENTRY}.` });
    await Promise.all([missing.close(), there.close()]);
  });

  it('refuses the key of somebody else and tells what to configure, without a start', async () => {
    const service = await serve();
    const peer = await service.clientOf('peer', { permission: 'guarded' });
    const task = await peer.send('run-this-for-me');
    expect(stateOf(task)).toBe('TASK_STATE_REJECTED');
    expect(statusTextOf(task)).toMatch(/agent-default.*trustCallers: true.*via: gateway/);
    expect(world.model.about('run-this-for-me')).toEqual([]);
  });

  it('fails while another process has the state, and is dead when Sealane is killed in the middle', async () => {
    const file = join(world.gateway.home, 'tasks.db');
    const config: CliHostConfig = { file, adminKey: ADMIN_KEY, connector: connector() };
    const child = spawn(process.execPath, ['--conditions=sealane:source', HOST, JSON.stringify(config)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const ended = once(child, 'exit');
    const [ready] = (await once(child.stdout, 'data')) as [Buffer];
    const host = createA2aClient({ url: ready.toString().trim().replace('ready ', ''), key: ADMIN_KEY });
    const { id } = await host.submit('SLOW90 killed-in-the-middle');
    const call = await modelIsAsked('killed-in-the-middle');

    const beside = await (await serve()).client.send('may I');
    expect(stateOf(beside)).toBe('TASK_STATE_FAILED');
    expect(statusTextOf(beside)).toContain('Another OpenClaw process works in the same state directory.');
    expect(call.aborted).toBe(false);

    child.kill('SIGKILL');
    await ended;
    await eventually(() => expect(programs()).toEqual([]));
    await eventually(() => expect(call.aborted).toBe(true));
    const { client } = await serve({}, `sqlite:${file}`);
    const task = await eventually(async () => {
      const found = await client.get(id);
      expect(stateOf(found)).toBe('TASK_STATE_FAILED');
      return found;
    }, 20_000);
    expect(statusTextOf(task)).toContain('The service stopped while the task was running.');
  });
});

describe('the openclaw program in front of a Gateway', () => {
  beforeAll(() => world.gateway.start());

  const gatewayToken = (): CliInput => ({ local: false, env: { OPENCLAW_GATEWAY_TOKEN: world.gateway.token } });

  it('answers, and stops the run at the Gateway when it is canceled', async () => {
    const { client } = await serve(gatewayToken());
    const contextId = randomUUID();
    expect(answerOf(await client.send('through the gateway', { contextId }))).toBe('ECHO(turn 1): through the gateway');
    const { id } = await client.submit('SLOW60 stop-at-the-gateway', { contextId });
    const call = await modelIsAsked('stop-at-the-gateway');
    expect(stateOf(await client.cancel(id))).toBe('TASK_STATE_CANCELED');
    await eventually(() => expect(call.aborted).toBe(true));
    expect(programs('SEALANE_RUN_TOKEN')).toEqual([]);
  });

  it('says what to set when it should work in the state directory of a Gateway itself', async () => {
    const { client } = await serve();
    const task = await client.send('hello');
    expect(stateOf(task)).toBe('TASK_STATE_FAILED');
    expect(statusTextOf(task)).toMatch(/A Gateway is running[\s\S]*local: false/);
  });
});
