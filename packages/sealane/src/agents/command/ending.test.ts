import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, expect, test } from 'vitest';

import type { Actor } from './actors.fixture.ts';
import { isAlive, openStage } from './actors.fixture.ts';
import { createCommandAgent } from './command-agent.ts';
import type { CommandInput } from './command-options.ts';
import { recordedIo, turnOf } from './recorded-run.fixture.ts';

const agents: ReturnType<typeof createCommandAgent>[] = [];
const agentOf = (options: CommandInput) => {
  const agent = createCommandAgent({ killGraceMs: 300, ...options });
  agents.push(agent);
  return agent;
};
afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.close()));
});

/** Each is a way for a process to get out of its parent's sight. `last` is the process to look for. */
const TREES: Readonly<Record<string, Actor>> = {
  'the program itself': { name: 'last' },
  'a program that ignores SIGTERM': { name: 'last', ignoresTerm: true },
  'a child': { name: 'main', children: [{ name: 'last' }] },
  'a child that ignores SIGTERM in a session of its own': {
    name: 'main',
    children: [{ name: 'last', detached: true, silent: true, ignoresTerm: true }],
  },
  'a daemon: own session, no parent, no streams': {
    name: 'main',
    children: [
      {
        name: 'middle',
        detached: true,
        silent: true,
        leaves: true,
        children: [{ name: 'last', detached: true, silent: true }],
      },
    ],
  },
  'an orphan without environment and streams, in the session of the program': {
    name: 'main',
    children: [{ name: 'middle', silent: true, leaves: true, children: [{ name: 'last', bare: true, silent: true }] }],
  },
  'an orphan without environment, in a session of its own, that holds only the streams': {
    name: 'main',
    children: [
      {
        name: 'middle',
        detached: true,
        bare: true,
        leaves: true,
        children: [{ name: 'last', detached: true, bare: true }],
      },
    ],
  },
};

describe('after an abort nothing is left of', () => {
  test.for(Object.entries(TREES))('%s', async ([, actor]) => {
    const stage = openStage();
    const agent = agentOf({ command: stage.command(actor) });
    const io = recordedIo();
    const run = agent.run(turnOf('work'), io);
    const last = await stage.pidOf('last');
    expect(isAlive(last)).toBe(true);
    io.abort();
    await expect(run).resolves.toEqual({ state: 'canceled' });
    expect(isAlive(last)).toBe(false);
    if (actor.name === 'main') expect(isAlive(await stage.pidOf('main'))).toBe(false);
  });
});

describe('when the program has ended by itself, nothing is left of', () => {
  const trees = Object.entries(TREES).filter(([, actor]) => actor.name === 'main');
  test.for(trees)('%s', async ([, actor]) => {
    const stage = openStage();
    const agent = agentOf({ command: stage.command(actor) });
    const run = agent.run(turnOf('work'), recordedIo());
    const [last] = await Promise.all([stage.pidOf('last'), stage.pidOf('main')]);
    expect(isAlive(last)).toBe(true);
    stage.dismiss('main');
    await expect(run).resolves.toEqual({ state: 'completed' });
    expect(isAlive(last)).toBe(false);
  });
});

test('a process that is started while its parents leave is not missed', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'sealane-ending-'));
  const pids = join(directory, 'pids');
  const leave = `(sh -c 'sleep 600 & echo $! >> ${pids}; exit' </dev/null >/dev/null 2>&1 &); exit 0`;
  const agent = agentOf({ command: ['sh', '-c', leave] });
  const turns = Array.from({ length: 4 }, async () => {
    for (let count = 0; count < 25; count += 1) await agent.run(turnOf('go'), recordedIo());
  });
  await Promise.all(turns);
  const started = existsSync(pids) ? readFileSync(pids, 'utf8').trim().split('\n').map(Number) : [];
  const left = started.filter(isAlive);
  for (const pid of left) process.kill(pid, 'SIGKILL');
  rmSync(directory, { recursive: true, force: true });
  expect(started.length).toBeGreaterThan(0);
  expect(left).toEqual([]);
});
