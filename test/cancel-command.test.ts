import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { type A2aClient, answerOf, type WireTask } from './support/a2a-client.ts';
import { eventually } from './support/eventually.ts';
import { freshFolder, serve } from './support/served-process.ts';

/**
 * An agent that leaves processes everywhere: in its group, in a session of their own, deaf to SIGTERM. Told `check`, it
 * says which of them still live.
 */
const SCRIPT = `
read -r message
case $message in
  tree)
    sleep 1000 & echo $! >> "$PIDS"
    setsid sh -c 'echo $$ >> "$PIDS"; exec sleep 1000' &
    setsid sh -c 'trap "" TERM; echo $$ >> "$PIDS"; while :; do sleep 1; done' > /dev/null 2>&1 < /dev/null &
    echo $$ >> "$PIDS"
    wait
    ;;
  check)
    for pid in $(cat "$PIDS"); do
      case $(ps -o stat= -p "$pid") in ''|Z*) ;; *) echo "alive: $pid" ;; esac
    done
    echo checked
    ;;
esac
`;

const openTree = async (settings = '') => {
  const folder = freshFolder();
  const script = join(folder.path, 'agent.sh');
  const pids = join(folder.path, 'pids');
  writeFileSync(script, SCRIPT);
  writeFileSync(pids, '');
  const agent = `{ connector: command, command: [sh, ${JSON.stringify(script)}], env: { PIDS: ${JSON.stringify(pids)} }, killGraceMs: 300, default: true ${settings} }`;
  const service = await serve(folder.path, { config: `agents: { tree: ${agent} }\n` });
  return {
    service,
    client: service.client,
    /** The processes of the agent, once all four are there. */
    grown: () =>
      eventually(() => {
        const found = readFileSync(pids, 'utf8').trim().split('\n');
        expect(found).toHaveLength(4);
        return found.map(Number);
      }),
    [Symbol.asyncDispose]: async () => {
      await service.kill();
      folder[Symbol.dispose]();
    },
  };
};

const settled = async (client: A2aClient, { id }: WireTask): Promise<WireTask> =>
  await eventually(async () => {
    const task = await client.get(id);
    expect(task.status.state).toMatch(/COMPLETED|FAILED|CANCELED/);
    return task;
  });

it('a cancel ends the whole process tree, detached and deaf children included, before the next task of the lane starts', async () => {
  await using tree = await openTree();
  const { client } = tree;
  const growing = await client.submit('tree', { contextId: 'x' });
  await tree.grown();
  const checking = await client.submit('check', { contextId: 'x' });
  expect(checking.status.state).toBe('TASK_STATE_SUBMITTED');
  const canceled = await client.cancel(growing.id);
  expect(canceled.status.state).toBe('TASK_STATE_CANCELED');
  expect(canceled.metadata).not.toHaveProperty('forced');
  expect(answerOf(await settled(client, checking)).trim()).toBe('checked');
});

it('a timeout ends the whole process tree as well, and the task fails with the reason timeout', async () => {
  await using tree = await openTree(', timeoutMinutes: 0.06');
  const { client } = tree;
  const growing = await client.submit('tree', { contextId: 'x' });
  await tree.grown();
  const checking = await client.submit('check', { contextId: 'x' });
  const failed = await settled(client, growing);
  expect(failed).toMatchObject({ status: { state: 'TASK_STATE_FAILED' }, metadata: { reason: 'timeout' } });
  expect(answerOf(await settled(client, checking)).trim()).toBe('checked');
});

it('a service that is killed takes the process trees of its agents with it', async () => {
  await using tree = await openTree();
  await tree.client.submit('tree', { contextId: 'x' });
  const pids = await tree.grown();
  await tree.service.kill();
  await eventually(() => expect(pids.filter(isAlive)).toEqual([]), 20_000);
});

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
};
