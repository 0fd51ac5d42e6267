import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { hostname } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { describe, expect, onTestFinished, test, vi } from 'vitest';

import type { RunRef } from '../agent-connector.ts';
import type { Actor, Stage } from './actors.fixture.ts';
import { isAlive, openStage, survivors } from './actors.fixture.ts';
import { createCommandAgent } from './command-agent.ts';
import type { CommandInput } from './command-options.ts';
import { systemReader } from './process-tree.ts';

const HOST = fileURLToPath(new URL('command-host.fixture.ts', import.meta.url));

/** Whoever is to die does so within moments, or later where the machine has much to do, or never. */
const SOON_MS = 15_000;

/** A Sealane process of its own, so that it can be killed. */
const openHost = (options: CommandInput) => {
  const child = spawn(process.execPath, ['--conditions=sealane:source', HOST, JSON.stringify(options)], {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  const pid = child.pid ?? 0;
  const lines = new Map<string, PromiseWithResolvers<unknown>>();
  const line = (word: string): PromiseWithResolvers<unknown> => {
    const known = lines.get(word) ?? Promise.withResolvers<unknown>();
    lines.set(word, known);
    return known;
  };
  createInterface({ input: child.stdout }).on('line', (text) => {
    const at = text.indexOf(' ');
    line(text.slice(0, at)).resolve(JSON.parse(text.slice(at)));
  });
  onTestFinished(() => {
    if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  });
  return {
    pid,
    exited: once(child, 'exit'),
    said: (word: 'ref' | 'end') => line(word).promise,
  };
};

/** The child of a host that is not its program. */
const supervisorOf = async (host: number, program: number, notThis?: number): Promise<number> => {
  const found = await vi.waitUntil(
    async () => {
      const { rows } = await systemReader().read();
      return rows.values().find((row) => row.parent === host && row.pid !== program && row.pid !== notThis);
    },
    { timeout: SOON_MS, interval: 30 },
  );
  return found.pid;
};

/** A program with one child that has left its session, and one that only holds its streams. */
const FAMILY: Actor = {
  name: 'main',
  ignoresTerm: true,
  children: [
    { name: 'away', detached: true, silent: true },
    {
      name: 'gone',
      detached: true,
      bare: true,
      leaves: true,
      children: [{ name: 'bare', detached: true, bare: true }],
    },
  ],
};
const familyOf = (stage: Stage): Promise<readonly number[]> =>
  Promise.all(['main', 'away', 'bare'].map((name) => stage.pidOf(name)));

describe('no process of a run outlives', () => {
  test('a Sealane that is killed with its process group', async () => {
    const stage = openStage();
    const host = openHost({ command: stage.command(FAMILY) });
    const family = await familyOf(stage);
    const supervisor = await supervisorOf(host.pid, family[0] ?? 0);
    expect(family.every(isAlive)).toBe(true);
    process.kill(-host.pid, 'SIGKILL');
    await expect(survivors(family, SOON_MS)).resolves.toEqual([]);
    await expect(survivors([supervisor], SOON_MS)).resolves.toEqual([]);
  });

  test('a Sealane that stands still for longer than the beat limit', async () => {
    const stage = openStage();
    const host = openHost({ command: stage.command(FAMILY), beatLimitMs: 1000 });
    const family = await familyOf(stage);
    process.kill(host.pid, 'SIGSTOP');
    await expect(survivors(family, SOON_MS)).resolves.toEqual([]);
    process.kill(host.pid, 'SIGCONT');
    // Not the program's fault: the same as if Sealane had died.
    await expect(host.said('end')).resolves.toMatchObject({ state: 'failed', reason: 'interrupted', retryable: true });
  });

  test('a Sealane whose first supervisor died before', async () => {
    const stage = openStage();
    const host = openHost({ command: stage.command(FAMILY) });
    const family = await familyOf(stage);
    const [main = 0] = family;
    const first = await supervisorOf(host.pid, main);
    for (const signal of ['SIGINT', 'SIGHUP', 'SIGTERM'] as const) process.kill(first, signal);
    await expect(survivors([first], 300)).resolves.toEqual([first]);
    process.kill(first, 'SIGKILL');
    await supervisorOf(host.pid, main, first);
    expect(family.every(isAlive)).toBe(true);
    process.kill(host.pid, 'SIGKILL');
    await expect(survivors(family, SOON_MS)).resolves.toEqual([]);
  });
});

test('a run goes on when Sealane and its supervisor stood still together', async () => {
  const stage = openStage();
  const host = openHost({ command: stage.command({ name: 'main' }), beatLimitMs: 1000 });
  const main = await stage.pidOf('main');
  const supervisor = await supervisorOf(host.pid, main);
  for (const pid of [host.pid, supervisor]) process.kill(pid, 'SIGSTOP');
  await new Promise((resolve) => setTimeout(resolve, 2000));
  for (const pid of [supervisor, host.pid]) process.kill(pid, 'SIGCONT');
  await expect(survivors([main], 1200)).resolves.toEqual([main]);
  expect(isAlive(supervisor)).toBe(true);
  process.kill(host.pid, 'SIGKILL');
  await expect(survivors([main], SOON_MS)).resolves.toEqual([]);
});

test('the supervisor neither keeps Sealane alive nor outlives it', async () => {
  const stage = openStage();
  const host = openHost({ command: stage.command({ name: 'main' }) });
  const main = await stage.pidOf('main');
  const supervisor = await supervisorOf(host.pid, main);
  stage.dismiss('main');
  await expect(host.said('end')).resolves.toEqual({ state: 'completed' });
  await expect(host.exited).resolves.toEqual([0, null]);
  await expect(survivors([supervisor], SOON_MS)).resolves.toEqual([]);
});

test('stop ends a run of another Sealane process, and says what it knows', async () => {
  const stage = openStage();
  const host = openHost({ command: stage.command(FAMILY) });
  const family = await familyOf(stage);
  const ref = (await host.said('ref')) as RunRef;
  expect(ref).toMatchObject({ token: expect.any(String) as string, host: hostname(), pid: null, startTime: null });
  const agent = createCommandAgent({ command: ['cat'], killGraceMs: 100 });
  const { signal } = new AbortController();

  await expect(agent.stop({ ...ref, host: 'elsewhere' }, signal)).resolves.toBe('unknown');
  await expect(agent.stop({ ...ref, bootId: 'another' }, signal)).resolves.toBe('dead');
  await expect(agent.stop({}, signal)).resolves.toBe('unknown');
  await expect(agent.stop(ref, AbortSignal.abort())).resolves.toBe('unknown');
  expect(family.every(isAlive)).toBe(true);

  await expect(agent.stop(ref, signal)).resolves.toBe('dead');
  expect(family.filter(isAlive)).toEqual([]);
  await expect(agent.stop(ref, signal)).resolves.toBe('dead');
  await agent.close();
});
