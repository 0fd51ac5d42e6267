import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, onTestFinished, test, vi } from 'vitest';

import { isAlive, openStage } from './actors.fixture.ts';
import type { Actor, Stage } from './actors.fixture.ts';
import { createProcReader } from './proc-reader.ts';
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

test.runIf(process.platform === 'linux')(
  'a container that hides how long the machine is up does not make everybody younger than the run',
  async () => {
    const directory = mkdtempSync(join(tmpdir(), 'sealane-uptime-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const file = join(directory, 'uptime');
    writeFileSync(file, '5.00 5.00\n');
    const stage = openStage();
    const reader = createProcReader(file);
    const { mark, pid } = await start(stage, { name: 'new' }, reader);
    await stage.pidOf('new');
    expect(mark.since).toBeGreaterThanOrEqual(reader.startTimeOf(process.pid) ?? Infinity);
    expect(mark.since).toBeLessThanOrEqual(reader.startTimeOf(pid) ?? 0);
  },
);

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

test('a process that got the pid of the program is not of its group', async () => {
  const stage = openStage();
  const reader = systemReader();
  const { mark, pid } = await start(stage, { name: 'newcomer' }, reader, 'another');
  await stage.pidOf('newcomer');
  const earlier = [mark.since - 1];
  const reused: ProcessReader = { ...reader, startTimeOf: (one) => earlier.pop() ?? reader.startTimeOf(one) };
  const tree = createProcessTree({ ...mark, token: TOKEN }, reused);
  tree.add(pid);
  await expect(tree.end({ graceMs: 0 })).resolves.toBe(true);
  expect(isAlive(pid)).toBe(true);
});

test('a process that got the pid of a member is not of its group', async () => {
  const stage = openStage();
  const reader = systemReader();
  const { mark, pid } = await start(stage, { name: 'newcomer' }, reader, 'another');
  await stage.pidOf('newcomer');
  const tree = createProcessTree({ ...mark, since: mark.since - 1, token: TOKEN }, reader);
  const table = await reader.read();
  const row = table.rows.get(pid);
  if (!row) throw new Error('The newcomer is not in the table.');
  const member = { ...row, startTime: row.startTime - 1, environ: async () => `${TOKEN_VARIABLE}=${TOKEN}` };
  await tree.learn({ ...table, rows: new Map([[pid, member]]) });
  await expect(tree.end({ graceMs: 0 })).resolves.toBe(true);
  expect(isAlive(pid)).toBe(true);
});

test('what a server that is older than the run starts for others is left alone', async () => {
  const reader = systemReader();
  const server = spawn('sh', { detached: true, stdio: ['pipe', 'pipe', 'ignore'] });
  onTestFinished(() => void process.kill(-(server.pid ?? 0), 'SIGKILL'));
  const order = async (words: string): Promise<number> => {
    server.stdin.write(`${words} & echo $!\n`);
    const [pid] = (await once(server.stdout, 'data')) as [Buffer];
    return Number(pid.toString());
  };
  await order(':');
  const since = (reader.startTimeOf(server.pid ?? 0) ?? (await reader.now())) + 1;
  await vi.waitUntil(async () => (await reader.now()) >= since);
  const ours = await order(`${TOKEN_VARIABLE}=${TOKEN} sleep 600`);
  const theirs = await order('sleep 600');
  // The shell answers before its child has become the program.
  await vi.waitUntil(async () => (await (await reader.read()).rows.get(ours)?.environ())?.includes(TOKEN));
  await expect(createProcessTree({ token: TOKEN, since, sockets: [] }, reader).end({ graceMs: 0 })).resolves.toBe(true);
  expect([ours, theirs].filter(isAlive)).toEqual([theirs]);
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
