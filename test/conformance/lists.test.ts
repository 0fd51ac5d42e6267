import { randomUUID } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { BINDINGS } from './drivers/driver.ts';
import { expectRefusal, useWorld } from './world.ts';

const world = useWorld();

describe.each(BINDINGS)('lists over %s', (binding) => {
  const { list, refused, send, submit, call } = world.speak(binding);
  const several = async (count: number): Promise<{ contextId: string; ids: readonly string[] }> => {
    const contextId = randomUUID();
    const ids: string[] = [];
    for (let number = 0; number < count; number += 1) ids.push((await send('x', { message: { contextId } })).id);
    return { contextId, ids };
  };

  it('have the latest task first [CORE-LIST-003]', async () => {
    const { contextId, ids } = await several(3);
    const { tasks } = await list({ contextId });
    expect(tasks.map(({ id }) => id)).toEqual(ids.toReversed());
  });

  it('come in pages, the last with an empty token, and count everything [CORE-LIST-002 CORE-LIST-004 CORE-LIST-010]', async () => {
    const { contextId, ids } = await several(3);
    const first = await list({ contextId, pageSize: 2 });
    const second = await list({ contextId, pageSize: 2, pageToken: first.nextPageToken });
    expect([...first.tasks, ...second.tasks].map(({ id }) => id)).toEqual(ids.toReversed());
    expect(first).toMatchObject({ totalSize: 3, pageSize: 2, nextPageToken: expect.stringMatching(/./) });
    expect(second).toMatchObject({ totalSize: 3, pageSize: 2, nextPageToken: '' });
  });

  it('stay whole while tasks change between pages [CORE-LIST-012]', async () => {
    const contextId = randomUUID();
    const ids: string[] = [];
    for (let number = 0; number < 4; number += 1)
      ids.unshift((await send('@ask Which?', { message: { contextId } })).id);
    const first = await list({ contextId, pageSize: 2 });
    expect(first.tasks.map(({ id }) => id)).toEqual(ids.slice(0, 2));
    // The task that the cursor was made from moves to the front.
    await call('CancelTask', { id: ids[1] });
    const second = await list({ contextId, pageSize: 2, pageToken: first.nextPageToken });
    expect(second.tasks.map(({ id }) => id)).toEqual(ids.slice(2));
    expect(second.nextPageToken).toBe('');
  });

  it('have 50 tasks to a page at first, and never more than 100 [CORE-LIST-009]', async () => {
    expect((await list()).pageSize).toBe(50);
    expect((await list({ pageSize: 100 })).pageSize).toBe(100);
    for (const pageSize of [0, -1, 101])
      expectRefusal(binding, await refused('ListTasks', { pageSize }), 'INVALID_PARAMS');
  });

  it('refuse a cursor that nobody gave out [CORE-LIST-011]', async () => {
    expectRefusal(binding, await refused('ListTasks', { pageToken: 'made-up' }), 'INVALID_PARAMS');
  });

  it('have artifacts only when asked for, and then always [CORE-LIST-005 CORE-LIST-006]', async () => {
    const contextId = randomUUID();
    await send('x', { message: { contextId } });
    await send('@ask Which?', { message: { contextId } });
    for (const task of (await list({ contextId })).tasks) expect(task).not.toHaveProperty('artifacts');
    const [asked, done] = (await list({ contextId, includeArtifacts: true })).tasks;
    expect(done?.artifacts).toHaveLength(1);
    // Protobuf has no way to say that a list is there and empty.
    expect(asked?.artifacts ?? (binding === 'GRPC' ? [] : undefined)).toEqual([]);
  });

  it('are filtered by context and state [CORE-LIST-007]', async () => {
    const { contextId, ids } = await several(1);
    const asked = await send('@ask Which?', { message: { contextId } });
    const completed = await list({ contextId, status: 'TASK_STATE_COMPLETED' });
    expect(completed.tasks.map(({ id }) => id)).toEqual(ids);
    const waiting = await list({ contextId, status: 'TASK_STATE_INPUT_REQUIRED' });
    expect(waiting.tasks.map(({ id }) => id)).toEqual([asked.id]);
    expect(waiting.totalSize).toBe(1);
    expect((await list({ contextId: randomUUID() })).tasks).toEqual([]);
  });

  it('since a time have what happened at exactly that time [CORE-LIST-008]', async () => {
    const { contextId, ids } = await several(1);
    const [task] = (await list({ contextId })).tasks;
    const at = task!.status.timestamp;
    const later = new Date(Date.parse(at) + 1).toISOString();
    expect((await list({ contextId, statusTimestampAfter: at })).tasks.map(({ id }) => id)).toEqual(ids);
    expect((await list({ contextId, statusTimestampAfter: later })).tasks).toEqual([]);
  });

  it('show as much history as is asked for [CORE-HIST-001 CORE-HIST-002]', async () => {
    const { contextId } = await several(1);
    expect((await list({ contextId, historyLength: 0 })).tasks[0]).not.toHaveProperty('history');
    expect((await list({ contextId, historyLength: 1 })).tasks[0]?.history).toHaveLength(1);
  });

  it('have only the tasks of the caller, with filters and without [CORE-LIST-001 AUTH-SCOPE-002]', async () => {
    const { contextId } = await several(1);
    const key = await world.keyOf('lister');
    expect(await list({}, { key })).toMatchObject({ tasks: [], totalSize: 0 });
    expect(await list({ contextId }, { key })).toMatchObject({ tasks: [], totalSize: 0 });
    const own = await submit('x', {}, { key });
    expect((await list({}, { key })).tasks.map(({ id }) => id)).toEqual([own.id]);
  });
});
