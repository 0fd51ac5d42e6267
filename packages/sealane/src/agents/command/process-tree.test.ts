import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';

import { expect, test } from 'vitest';

import { isAlive, openStage } from './actors.fixture.ts';
import type { Actor, Stage } from './actors.fixture.ts';
import type { ProcessReader } from './process-table.ts';
import type { TreeMark } from './process-tree.ts';
import { createProcessTree, systemReader, TOKEN_VARIABLE } from './process-tree.ts';
import { createPsReader } from './ps-reader.ts';

const TOKEN = 'a1b2c3';

const start = async (stage: Stage, actor: Actor, reader: ProcessReader, token = TOKEN) => {
  const mark: TreeMark = { token, since: await reader.now(), sockets: [] };
  const [program, ...args] = stage.command(actor);
  const env = { ...process.env, [TOKEN_VARIABLE]: token };
  const child = spawn(program, args, { detached: true, stdio: 'ignore', env });
  return { mark, pid: child.pid ?? 0, exited: once(child, 'exit') };
};

test('a process that was seen in the tree belongs to it when all its ties are cut', async () => {
  const stage = openStage();
  const reader = systemReader();
  const actor = { name: 'main', children: [{ name: 'cut', detached: true, bare: true, silent: true }] };
  const { mark, pid, exited } = await start(stage, actor, reader);
  const [cut] = await Promise.all([stage.pidOf('cut'), stage.pidOf('main')]);
  const tree = createProcessTree(mark, reader);
  tree.add(pid);
  await tree.learn(await reader.read());
  stage.dismiss('main');
  await exited;
  expect(isAlive(cut)).toBe(true);
  await expect(tree.end({ graceMs: 100 })).resolves.toBe(true);
  expect(isAlive(cut)).toBe(false);
});

test('the token of an outer run finds the processes of the runs inside it', async () => {
  const stage = openStage();
  const reader = systemReader();
  const { mark } = await start(stage, { name: 'inner' }, reader, `${TOKEN},d4e5f6`);
  const inner = await stage.pidOf('inner');
  await createProcessTree({ ...mark, token: 'e5f6' }, reader).end({ graceMs: 0 });
  expect(isAlive(inner)).toBe(true);
  await createProcessTree({ ...mark, token: TOKEN }, reader).end({ graceMs: 0 });
  expect(isAlive(inner)).toBe(false);
});

test('a process that is older than the run is left alone, whatever it carries', async () => {
  const stage = openStage();
  const reader = systemReader();
  const { mark, pid } = await start(stage, { name: 'old' }, reader);
  await stage.pidOf('old');
  const since = (reader.startTimeOf(pid) ?? (await reader.now())) + 1;
  await expect(createProcessTree({ ...mark, since }, reader).end({ graceMs: 0 })).resolves.toBe(true);
  expect(isAlive(pid)).toBe(true);
});

test('a signal is not sent to a pid that has a new owner', async () => {
  const stage = openStage();
  const reader = systemReader();
  const { mark, pid } = await start(stage, { name: 'newcomer' }, reader);
  await stage.pidOf('newcomer');
  const reused: ProcessReader = { ...reader, startTimeOf: () => mark.since + 1_000_000 };
  const tree = createProcessTree(mark, reused);
  await expect(tree.end({ graceMs: 0, signal: AbortSignal.timeout(150) })).resolves.toBe(false);
  expect(isAlive(pid)).toBe(true);
});

test('a tree is not called dead while processes cannot be read', async () => {
  const reader = systemReader();
  const blind: ProcessReader = { ...reader, read: () => Promise.reject(new Error('out of descriptors')) };
  const tree = createProcessTree({ token: TOKEN, since: await reader.now(), sockets: [] }, blind);
  await expect(tree.end({ graceMs: 0, signal: AbortSignal.timeout(150) })).resolves.toBe(false);
});

test.runIf(['/bin/ps', '/usr/bin/ps'].some((path) => existsSync(path)))(
  'a tree is found with ps where there is no /proc',
  async () => {
    const stage = openStage();
    const reader = createPsReader();
    const actor = { name: 'main', children: [{ name: 'away', detached: true, silent: true }] };
    const { mark, pid } = await start(stage, actor, reader);
    const away = await stage.pidOf('away');
    const tree = createProcessTree(mark, reader);
    tree.add(pid);
    await expect(tree.end({ graceMs: 100 })).resolves.toBe(true);
    expect([pid, away].filter(isAlive)).toEqual([]);
  },
);
