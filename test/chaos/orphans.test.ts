import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { expect, it } from 'vitest';

import { eventually } from '../support/eventually.ts';
import { freshSchema } from '../support/fresh-schema.ts';
import type { A2aClient } from './a2a-client.ts';
import { monotonicMs } from './audit-log.ts';
import { type ChaosWorld, createWorld } from './chaos-world.ts';

const PROGRAM = fileURLToPath(new URL('tree-program.mjs', import.meta.url));

interface Wire {
  readonly id: string;
  readonly status: { readonly state: string };
}

const submit = async (client: A2aClient, text: string, lane: string, agent: string): Promise<Wire> => {
  const message = { messageId: `${lane} ${text}`, role: 'ROLE_USER', parts: [{ text }], contextId: lane };
  const { result } = await client.call(
    'SendMessage',
    { message, configuration: { returnImmediately: true } },
    { agent },
  );
  return result?.['task'] as Wire;
};
const stateOf = async (client: A2aClient, { id }: Wire): Promise<string | undefined> =>
  ((await client.call('GetTask', { id })).result as Wire | undefined)?.status.state;

it('a task whose service was killed can be canceled through another one', async () => {
  const place = freshSchema();
  await using world = await createWorld({
    name: 'cancel with a dead owner',
    store: () => ({ kind: 'postgres', ...place }),
  });
  const { ledger } = world;
  const [doomed, other] = [world.start(), world.start()];
  const client = await world.clientOf(other);
  const tasks: Wire[] = [];
  for (const agent of ['fail', 'retry']) {
    const sent = ledger.trying({ messageId: `${agent} work 60000 100`, lane: agent, text: 'work 60000 100' });
    const task = await submit(await world.clientOf(doomed), sent.text, agent, agent);
    ledger.accepted(sent, task.id);
    tasks.push(task);
  }
  await eventually(async () => expect(await stateOf(client, tasks[1] as Wire)).toBe('TASK_STATE_WORKING'));
  await doomed.kill();
  const askedAt = monotonicMs();
  for (const { id } of tasks) ledger.cancelTried(id);
  const answers = await Promise.all(tasks.map(({ id }) => client.call('CancelTask', { id })));
  expect(answers.map(({ result }) => (result as Wire | undefined)?.status.state)).toEqual(
    Array(2).fill('TASK_STATE_CANCELED'),
  );
  world.say(`canceled ${((monotonicMs() - askedAt) / 1000).toFixed(1)} s after the kill; the lease is 3 s`);
  for (const { id } of tasks) ledger.canceled(id);
  await world.check();
});

/** What the program has written: who was seen alive when. */
const beatsOf = (file: string): readonly { readonly who: string; readonly pid: number; readonly at: number }[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split(' '))
    .map(([who = '', pid, at]) => ({ who, pid: Number(pid), at: Number(at) }));

const isAlive = (pid: number): boolean => {
  try {
    return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
};

/** A service with a program that has grown a tree, and a task that waits behind it in the same lane. */
const growTree = async (world: ChaosWorld) => {
  const service = world.start();
  const client = await world.clientOf(service);
  const grown = await submit(client, 'grow', 'tree', 'command');
  const next = await submit(client, 'next', 'tree', 'command');
  const pids = await eventually(() => {
    const alive = beatsOf(beatsIn(world.folder));
    expect(new Set(alive.map(({ who }) => who))).toEqual(new Set(['parent', 'child']));
    return [...new Set(alive.map(({ pid }) => pid))];
  });
  return { service, grown, next, pids };
};

const beatsIn = (folder: string): string => join(folder, 'beats');

const openTreeWorld = (name: string): Promise<ChaosWorld> =>
  createWorld({
    name,
    store: (folder) => ({ kind: 'sqlite', file: join(folder, 'data', 'sealane.db') }),
    configOf: (folder) => ({ command: { command: [process.execPath, PROGRAM, beatsIn(folder)], killGraceMs: 1500 } }),
  });

it('the processes of a killed service are gone soon, those in sessions of their own included', async () => {
  await using world = await openTreeWorld('orphans without a restart');
  const { service, pids } = await growTree(world);
  await service.kill();
  const killedAt = monotonicMs();
  await eventually(() => expect(pids.filter(isAlive)).toEqual([]), 15_000);
  world.say(`${pids.length} processes were gone ${((monotonicMs() - killedAt) / 1000).toFixed(1)} s after the kill`);
});

/** The process that ends programs when their service cannot. */
const supervisorOf = (pid: number): number => {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
  const found = children.find((child) => readFileSync(`/proc/${child}/cmdline`, 'utf8').includes('supervisor-main'));
  if (found === undefined) throw new Error(`The service ${pid} has no supervisor.`);
  return found;
};

it.each([
  { killed: 'service', withSupervisor: false },
  { killed: 'service and its supervisor', withSupervisor: true },
])(
  'after a restart the lane of a killed $killed goes on only when the processes of its run are gone',
  async ({ killed, withSupervisor }) => {
    await using world = await openTreeWorld(`orphans of a killed ${killed}`);
    const { service, grown, next, pids } = await growTree(world);
    if (withSupervisor) process.kill(supervisorOf(service.pid), 'SIGKILL');
    await service.kill();
    const client = await world.clientOf(world.start());
    await eventually(async () => expect(await stateOf(client, next)).toBe('TASK_STATE_COMPLETED'), 30_000);
    expect(await stateOf(client, grown)).toBe('TASK_STATE_FAILED');
    expect(pids.filter(isAlive)).toEqual([]);
    const seen = beatsOf(beatsIn(world.folder));
    const begun = seen.find(({ who }) => who === 'next')?.at ?? 0;
    const last = Math.max(...seen.filter(({ who }) => who !== 'next').map(({ at }) => at));
    world.say(`the next run began ${(begun - last).toFixed(0)} ms after the last sign of the old one`);
    expect(begun).toBeGreaterThan(last);
  },
);
