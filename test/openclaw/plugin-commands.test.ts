import { execFile } from 'node:child_process';
import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { answerOf } from '../support/a2a-client.ts';
import { openPluginWorld, type PluginWorld } from './plugin-world.ts';

let world: PluginWorld;

beforeAll(async () => {
  world = await openPluginWorld();
  // The first turn of a Gateway loads what the others then have.
  await world.client.send('warm up');
});

afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

const SEALANE = fileURLToPath(new URL('../../packages/sealane/bin/sealane.mjs', import.meta.url));

/** `openclaw a2a-tasks …`, which takes seconds to start: tests run several at once. */
const tasks = (...words: readonly string[]) => world.gateway.openclaw('a2a-tasks', ...words);

describe('openclaw a2a-tasks', () => {
  it('says where the service is, what it does and where its data is; and finds nothing wrong', async () => {
    const [status, doctor] = await Promise.all([tasks('status', '--json'), tasks('doctor', '--ask', '--json')]);
    expect(status.code).toBe(0);
    expect(JSON.parse(status.stdout)).toMatchObject({
      plugin: { enabled: true },
      url: `${world.gateway.httpUrl}/a2a`,
      gateway: 'up',
      service: 'ready',
      agents: ['main'],
      tasks: { completed: expect.any(Number) as number },
      lanes: { waiting: 0, pausedAgents: [] },
      database: {
        file: join(world.gateway.home, 'state/data/a2a-tasks.db'),
        bytes: expect.any(Number) as number,
      },
      channel: { takenOver: false, peers: [] },
    });
    const { ok, checks } = JSON.parse(doctor.stdout) as { ok: boolean; checks: { name: string; ok: boolean }[] };
    expect(checks.filter((check) => !check.ok)).toEqual([]);
    expect(checks.map(({ name }) => name)).toEqual([
      'plugin',
      'data folder',
      'disk',
      'key',
      'gateway',
      'service',
      'store',
      'agent main',
      'model',
    ]);
    expect([ok, doctor.code]).toEqual([true, 0]);
  });

  it('sends a message and shows the answer, lists tasks, and prints the key alone', async () => {
    const [sent, listed, key] = await Promise.all([
      tasks('send', 'hello from the command line'),
      tasks('tasks', 'list', '--json'),
      tasks('key'),
    ]);
    expect(sent.stdout.trim()).toBe('ECHO(turn 1): hello from the command line');
    expect(sent.code).toBe(0);
    const { tasks: found } = JSON.parse(listed.stdout) as { tasks: { owner: string }[] };
    expect(found.map(({ owner }) => owner)).toContain('admin');
    expect(key.stdout).toBe(`${world.adminKey}\n`);
  });

  it('invites a peer whose key works, and says in its own words what to type next', async () => {
    const [invited, refused] = await Promise.all([
      tasks('invite', 'hermes', '--json'),
      tasks('tasks', 'list', '--state', 'wrking'),
    ]);
    const invitation = JSON.parse(invited.stdout) as {
      key: string;
      revoke: string;
      agents: { url: string }[];
      warnings: string[];
    };
    expect(invitation.revoke).toBe('openclaw a2a-tasks keys revoke hermes');
    expect(invitation.agents[0]?.url).toBe(`${world.gateway.httpUrl}/a2a/agents/main`);
    expect(invitation.warnings.join()).toContain('openclaw config set');
    expect(answerOf(await world.client.with({ key: invitation.key }).send('hi'))).toBe('ECHO(turn 1): hi');
    expect(refused.output).toContain('openclaw a2a-tasks tasks list --state working');
    expect(`${invited.output}${refused.output}`).not.toMatch(/\bsealane [a-z]/);
    expect(refused.code).not.toBe(0);
  });

  it('stands in the help of OpenClaw, and its own help speaks of openclaw', async () => {
    const [all, own] = await Promise.all([world.gateway.openclaw('--help'), tasks('send', '--help')]);
    expect(all.stdout).toContain('a2a-tasks');
    expect(own.stdout).toContain('openclaw a2a-tasks send "hello"');
    expect(own.stdout).not.toMatch(/(?<!a2a-tasks )\bsealane send/);
  });

  it('costs other commands next to nothing: what OpenClaw loads to know us is small', () => {
    const [dist = ''] = globSync(join(world.gateway.home, 'state/npm/projects/*/node_modules/@sealane/*/dist'));
    const loaded = new Set<string>();
    const load = (file: string): void => {
      if (loaded.has(file)) return;
      loaded.add(file);
      const text = readFileSync(join(dist, file), 'utf8');
      for (const [, next = ''] of text.matchAll(/^(?:import|export)[^'"]*["']\.\/([^'"]+)["'];?$/gm)) load(next);
    };
    load('index.js');
    expect([...loaded].filter((file) => /mount-commands|start-sealane/.test(file))).toEqual([]);
    const bytes = [...loaded].reduce((sum, file) => sum + statSync(join(dist, file)).size, 0);
    expect(bytes).toBeLessThan(400_000);
  });
});

describe('sealane --url', () => {
  const sealane = async (...words: readonly string[]): Promise<string> => {
    const flags = ['--conditions=sealane:source', SEALANE, '--url', `${world.gateway.httpUrl}/a2a`];
    const { stdout } = await promisify(execFile)(process.execPath, [...flags, '--key', world.adminKey, ...words]);
    return stdout;
  };

  it('drives the plugin as it drives a service of its own', async () => {
    expect(await sealane('send', 'hello from afar')).toBe('ECHO(turn 1): hello from afar\n');
    const { tasks: found } = JSON.parse(await sealane('tasks', 'list', '--json')) as {
      tasks: { task: { id: string } }[];
    };
    const id = found[0]?.task.id ?? '';
    expect(await sealane('tasks', 'show', id, '--events')).toContain('hello from afar');
    expect(await sealane('watch', id)).toContain('completed');
    expect(await sealane('lanes', 'pause', '--agent', 'main')).toContain('paused');
    expect(await sealane('lanes', 'resume', '--agent', 'main')).toContain('runs');
    expect(await sealane('keys', 'list')).toContain('hermes');
    const backup = join(world.gateway.home, 'backup.db');
    await sealane('backup', backup);
    expect(statSync(backup).size).toBeGreaterThan(0);
    expect(await sealane('tasks', 'delete', id)).toContain('deleted');
  });
});

describe('without a Gateway', () => {
  beforeAll(() => world.gateway.stop());

  it('says so, and how to start one', async () => {
    const [listed, doctor] = await Promise.all([tasks('tasks', 'list'), tasks('doctor')]);
    expect(listed.code).toBe(6);
    expect(listed.output).toContain('openclaw gateway run');
    expect(doctor.output).toMatch(/✗ gateway .*nothing answers/);
    expect(doctor.code).toBe(1);
  });
});
