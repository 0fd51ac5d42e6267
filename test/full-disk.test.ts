import { execFileSync } from 'node:child_process';
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { answerOf, refusalOf, type WireTask } from './support/a2a-client.ts';
import { isState } from './support/event-stream.ts';
import { eventually } from './support/eventually.ts';
import { mountDisk } from './support/mounted-disk.ts';
import { freshFolder, serve, type ServedProcess } from './support/served-process.ts';

const STORAGE_FULL = -32019;

/** From now on the process can write no file beyond so many bytes, as on a full disk; or again as it likes. */
const limitFiles = ({ pid }: ServedProcess, bytes: number | 'unlimited'): void => {
  execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:`]);
};

const accepted = async ({ client }: ServedProcess): Promise<readonly WireTask[]> => {
  const tasks: WireTask[] = [];
  for (let count = 0; count < 20; count += 1) tasks.push(await client.send(`accepted ${count}`));
  return tasks;
};

const expectAll = async ({ client }: ServedProcess, tasks: readonly WireTask[]): Promise<void> => {
  for (const task of tasks) expect(await client.get(task.id)).toEqual(task);
};

describe.runIf(process.platform === 'linux')('when nothing more can be written', () => {
  it('new tasks are refused with words, reads go on, and what ran is complete when there is room again', async () => {
    using folder = freshFolder();
    await using service = await serve(folder.path);
    const { client } = service;
    const before = await accepted(service);
    const stream = await client.stream('@stream 300 5');
    const running = (await stream.next())!.task!;
    await stream.until(({ artifactUpdate }) => artifactUpdate !== undefined);
    limitFiles(service, 1);

    const refusal = await refusalOf(client.send('one more'));
    expect(refusal.code).toBe(STORAGE_FULL);
    expect(refusal.message).toMatch(/full/);
    expect(Number(refusal.headers.get('retry-after'))).toBeGreaterThan(0);
    await expectAll(service, before);
    expect((await client.list({ pageSize: 5 })).totalSize).toBe(21);
    expect((await client.get(running.id)).status.state).toBe('TASK_STATE_WORKING');

    limitFiles(service, 'unlimited');
    await stream.until(isState('TASK_STATE_COMPLETED'));
    expect(answerOf(await client.get(running.id)).match(/chunk/g)).toHaveLength(300);
    expect((await client.send('room again')).status.state).toBe('TASK_STATE_COMPLETED');

    await service.kill();
    await using again = await serve(folder.path);
    await expectAll(again, before);
    expect((await again.client.list()).totalSize).toBe(22);
  });
});

/** Too little for newcomers, who need a twentieth of the disk, and enough for what goes on. */
const LEFT_BYTES = 3_000_000;

it('on a disk that is nearly full, running tasks end and cancels go on; new tasks are taken when there is room', async (context) => {
  using folder = freshFolder();
  using disk = mountDisk(folder.path, 'size=64m');
  if (!disk) return context.skip('only the superuser can mount a disk');
  await using service = await serve(folder.path);
  const { client } = service;
  const before = await accepted(service);
  const running = await client.stream('@stream 60 10');
  const { task } = (await running.next())!;
  const sleeping = await client.submit('@sleep 600000', { contextId: 'x' });
  const waiting = await client.submit('after you', { contextId: 'x' });
  const queued = await client.submit('@sleep 600000', { contextId: 'x' });

  const filler = join(folder.path, 'filler');
  const { bavail, bsize } = statfsSync(folder.path);
  writeFileSync(filler, Buffer.alloc(bavail * bsize - LEFT_BYTES));
  const refusal = await eventually(() => refusalOf(client.submit('one more')));
  expect(refusal.code).toBe(STORAGE_FULL);
  expect(refusal.message).toMatch(/full or nearly full.*cancels while what is left of it lasts/);

  await running.until(isState('TASK_STATE_COMPLETED'));
  expect(answerOf(await client.get(task!.id)).match(/chunk/g)).toHaveLength(60);
  expect((await client.cancel(queued.id)).status.state).toBe('TASK_STATE_CANCELED');
  expect((await client.cancel(sleeping.id)).status.state).toBe('TASK_STATE_CANCELED');
  await eventually(async () => expect((await client.get(waiting.id)).status.state).toBe('TASK_STATE_COMPLETED'));
  await expectAll(service, before);

  rmSync(filler);
  await eventually(async () => expect((await client.send('room again')).status.state).toBe('TASK_STATE_COMPLETED'));
  await service.kill();
  await using again = await serve(folder.path);
  await expectAll(again, before);
});

it('on a disk without any room the health says that nothing can be written, and not what goes on', async (context) => {
  using folder = freshFolder();
  using disk = mountDisk(folder.path, 'size=64m');
  if (!disk) return context.skip('only the superuser can mount a disk');
  await using service = await serve(folder.path);
  const stream = await service.client.stream('@stream 2000 5');
  await stream.until(({ artifactUpdate }) => artifactUpdate !== undefined);
  expect(() => writeFileSync(join(folder.path, 'filler'), Buffer.alloc(64 * 1024 * 1024))).toThrow('ENOSPC');
  await eventually(() => refusalOf(service.client.submit('one more')));
  await eventually(async () => {
    const { store } = await service.admin.get<{ readonly store: string }>('/health');
    expect(store).toMatch(/full or failing, so this could not be written/);
  });
});
