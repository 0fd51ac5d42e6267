import { createTaskRecords, createTaskShelf, SealaneError, type ShelfInput } from 'sealane';
import { openStore, type Storage } from 'sealane/store';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { createGateAgent } from './support/gate-agent.ts';
import { openService } from './support/service.ts';

let storage: Storage;
beforeAll(async () => {
  storage = await openStore('memory');
});
afterAll(() => storage.close());

let owners = 0;
const newOwner = (): string => `owner-${(owners += 1)}`;
const idsOf = (tasks: readonly { readonly id: string }[]): readonly string[] => tasks.map(({ id }) => id);

describe('task records', () => {
  it('create, get, update and delete whole tasks; what is missing is null or false', async () => {
    const records = createTaskRecords({ storage, owner: newOwner() });
    const created = await records.create({ id: 'r-1', contextId: 'ctx', metadata: { a: 1 } });
    expect(created).toEqual({
      id: 'r-1',
      contextId: 'ctx',
      kind: 'task',
      status: { state: 'submitted', timestamp: expect.stringMatching(/^\d{4}-.*Z$/) },
      artifacts: [],
      history: [],
      metadata: { a: 1 },
    });
    expect(await records.get('r-1')).toEqual(created);
    const message = { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'done' }] } as const;
    const updated = await records.update('r-1', {
      status: { state: 'completed', message },
      artifacts: [{ artifactId: 'a', parts: [{ text: 'x' }] }],
    });
    expect(updated).toMatchObject({
      contextId: 'ctx',
      metadata: { a: 1 },
      status: { state: 'completed', message },
      artifacts: [{ artifactId: 'a' }],
    });
    expect(await records.get('r-1')).toEqual(updated);
    expect(await records.delete('r-1')).toBe(true);
    expect([await records.get('r-1'), await records.update('r-1', {}), await records.delete('r-1')]).toEqual([
      null,
      null,
      false,
    ]);
  });

  it('refuse to create what exists, and to bring back what has ended', async () => {
    const records = createTaskRecords({ storage, owner: newOwner() });
    await records.create({ id: 'r-2', status: { state: 'completed' } });
    await expect(records.create({ id: 'r-2' })).rejects.toMatchObject({ code: 'conflict' });
    await expect(records.update('r-2', { status: { state: 'working' } })).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('ended'),
    });
    expect(await records.update('r-2', { metadata: { note: 'corrected' } })).toMatchObject({
      status: { state: 'completed' },
      metadata: { note: 'corrected' },
    });
  });

  it('keep what each of several updates at the same moment has changed', async () => {
    const records = createTaskRecords({ storage, owner: newOwner() });
    await records.create({ id: 'several', status: { state: 'working' } });
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] } as const;
    await Promise.all([
      records.update('several', { metadata: { a: 1 } }),
      records.update('several', { history: [message] }),
      records.update('several', { artifacts: [{ artifactId: 'a', parts: [{ text: 'x' }] }] }),
      records.update('several', { status: { state: 'completed' } }),
    ]);
    expect(await records.get('several')).toMatchObject({
      status: { state: 'completed' },
      metadata: { a: 1 },
      history: [message],
      artifacts: [{ artifactId: 'a' }],
    });
  });

  it('are found by context and listed in pages, newest status first', async () => {
    const records = createTaskRecords({ storage, owner: newOwner() });
    for (let number = 0; number < 5; number += 1) {
      await records.create({
        id: `list-${number}`,
        contextId: number < 3 ? 'one' : 'two',
        status: { timestamp: `2026-01-01T00:00:0${number}.000Z` },
      });
    }
    expect(idsOf(await records.findByContext('one'))).toEqual(['list-2', 'list-1', 'list-0']);
    expect(await records.findByContext('none')).toEqual([]);
    const first = await records.list({ pageSize: 2 });
    expect([idsOf(first.tasks), first.totalSize]).toEqual([['list-4', 'list-3'], 5]);
    const second = await records.list({ pageSize: 2, pageToken: first.nextPageToken! });
    const third = await records.list({ pageSize: 2, pageToken: second.nextPageToken! });
    expect([idsOf(second.tasks), idsOf(third.tasks), third.nextPageToken]).toEqual([
      ['list-2', 'list-1'],
      ['list-0'],
      null,
    ]);
  });

  it('save and load have nothing to do, because every write is durable when it answers', async () => {
    const owner = newOwner();
    const records = createTaskRecords({ storage, owner });
    await records.load();
    await records.create({ id: 'r-3' });
    await records.save();
    expect(await createTaskRecords({ storage, owner }).get('r-3')).toMatchObject({ id: 'r-3' });
  });

  it("of one owner are nobody else's", async () => {
    const [mine, other] = [
      createTaskRecords({ storage, owner: newOwner() }),
      createTaskRecords({ storage, owner: newOwner() }),
    ];
    await mine.create({ id: 'private', contextId: 'shared' });
    expect([await other.get('private'), await other.delete('private'), await other.findByContext('shared')]).toEqual([
      null,
      false,
      [],
    ]);
    expect(await other.update('private', { metadata: { mine: true } })).toBeNull();
    await expect(other.create({ id: 'private' })).rejects.toBeInstanceOf(SealaneError);
    expect(await mine.get('private')).toMatchObject({ metadata: {} });
  });

  it('read what the engine works on, and do not write over it', async () => {
    const gate = createGateAgent();
    await using service = await openService({ agents: { gate: { connector: gate.connector } } });
    const records = createTaskRecords({ storage: service.sealane.storage, owner: service.caller.owner });
    const running = await service.client.submit('work', { contextId: 'x' });
    const waiting = await service.client.submit('later', { contextId: 'x' });
    expect(await records.get(running.id)).toMatchObject({ status: { state: 'working' } });
    expect(await records.get(waiting.id)).toMatchObject({
      status: { state: 'submitted' },
      metadata: { queuePosition: 1, queuedAt: expect.any(Number) },
    });
    await expect(records.update(running.id, { status: { state: 'completed' } })).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('worked on'),
    });
    expect(await records.delete(running.id)).toBe(false);
    (await gate.started('work')).end();
    await gate.started('later');
  });
});

describe('a task shelf', () => {
  const taskOf = (id: string, extra: Partial<ShelfInput> = {}): ShelfInput => ({
    id,
    contextId: 'ctx',
    status: { state: 'working' },
    ...extra,
  });

  it('saves, overwrites and deletes whole tasks', async () => {
    const shelf = createTaskShelf({ storage, owner: newOwner() });
    await shelf.save(
      taskOf('s-1', { status: { state: 'working', message: 'on it', timestamp: '2026-01-01T00:00:00.000Z' } }),
    );
    expect(await shelf.get('s-1')).toMatchObject({
      kind: 'task',
      status: { state: 'working', message: 'on it', timestamp: '2026-01-01T00:00:00.000Z' },
    });
    await shelf.save(taskOf('s-1', { metadata: { second: true } }));
    await shelf.save(taskOf('s-1', { metadata: { second: true } }));
    expect(await shelf.get('s-1')).toMatchObject({ metadata: { second: true } });
    expect(await shelf.get('s-1')).toHaveProperty('status.message', null);
    expect([await shelf.delete('s-1'), await shelf.delete('s-1'), await shelf.get('s-1')]).toEqual([true, false, null]);
  });

  it('lists in the order of the first save, by a cursor that is the id of the last task', async () => {
    const shelf = createTaskShelf({ storage, owner: newOwner() });
    for (let number = 0; number < 7; number += 1)
      await shelf.save(taskOf(`o-${number}`, { contextId: number % 2 ? 'odd' : 'even' }));
    await shelf.save(taskOf('o-0', { contextId: 'even', metadata: { saved: 'again' } }));
    const first = await shelf.list({ limit: 3 });
    expect([idsOf(first.tasks), first.nextCursor]).toEqual([['o-0', 'o-1', 'o-2'], 'o-2']);
    const second = await shelf.list({ limit: 3, cursor: first.nextCursor });
    expect([idsOf(second.tasks), second.nextCursor]).toEqual([['o-3', 'o-4', 'o-5'], 'o-5']);
    const third = await shelf.list({ limit: 3, cursor: second.nextCursor });
    expect([idsOf(third.tasks), third.nextCursor]).toEqual([['o-6'], null]);
    expect(idsOf((await shelf.list({ contextId: 'odd' })).tasks)).toEqual(['o-1', 'o-3', 'o-5']);
    // The last page is full and still the last.
    expect((await shelf.list({ limit: 7 })).nextCursor).toBeNull();
  });

  it('goes on behind a cursor whose task was deleted, and says so when it never had one', async () => {
    const owner = newOwner();
    const shelf = createTaskShelf({ storage, owner });
    for (let number = 0; number < 6; number += 1) await shelf.save(taskOf(`d-${number}`));
    const { nextCursor } = await shelf.list({ limit: 2 });
    // Somebody who has not listed before finds the place as well, while the task is there.
    const other = createTaskShelf({ storage, owner });
    expect(idsOf((await other.list({ limit: 2, cursor: 'd-3' })).tasks)).toEqual(['d-4', 'd-5']);
    expect(await other.list({ cursor: 'd-5' })).toEqual({ tasks: [], nextCursor: null });
    await shelf.delete(nextCursor!);
    expect(idsOf((await shelf.list({ limit: 2, cursor: nextCursor })).tasks)).toEqual(['d-2', 'd-3']);
    await expect(shelf.list({ cursor: 'nobody' })).rejects.toThrow('There is no task "nobody" any more');
  });

  it('has the statuses that a task had before as its history: those that came with it, else those of its log', async () => {
    const shelf = createTaskShelf({ storage, owner: newOwner() });
    const submitted = { state: 'submitted', message: null, timestamp: '2026-01-01T00:00:00.000Z' } as const;
    const working = { state: 'working', message: 'on it', timestamp: '2026-01-01T00:00:01.000Z' } as const;
    const completed = { state: 'completed', message: 'done', timestamp: '2026-01-01T00:00:02.000Z' } as const;
    const given = { ...taskOf('h-1'), status: completed, history: [submitted, working], metadata: { a: 1 } };
    await shelf.save(given);
    expect(await shelf.get('h-1')).toEqual({ ...given, kind: 'task', artifacts: [] });
    for (const status of [submitted, working, working, completed]) await shelf.save(taskOf('h-2', { status }));
    const expected = { status: completed, history: [submitted, working], metadata: {} };
    expect(await shelf.get('h-2')).toMatchObject(expected);
    expect((await shelf.list()).tasks[1]).toMatchObject(expected);
  });

  it('shows tasks of the engine in the same form', async () => {
    await using service = await openService();
    const shelf = createTaskShelf({ storage: service.sealane.storage, owner: service.caller.owner });
    const { id } = await service.client.send('@ask which?');
    await service.client.send('this one', { taskId: id });
    const task = await shelf.get(id);
    expect(task).toMatchObject({ status: { state: 'completed', message: 'this one' } });
    expect(task!.history.map(({ state, message }) => [state, message])).toEqual([
      ['submitted', null],
      ['working', null],
      ['input-required', 'which?'],
      ['submitted', null],
      ['working', null],
    ]);
  });

  it('moves a limit outside 1 to 200 inside, and lists 50 without one', async () => {
    const shelf = createTaskShelf({ storage, owner: newOwner() });
    for (let number = 0; number < 210; number += 1) await shelf.save(taskOf(`l-${number}`));
    const sizes = await Promise.all(
      [0, -5, 1, 200, 201, 100_000].map(async (limit) => (await shelf.list({ limit })).tasks.length),
    );
    expect(sizes).toEqual([1, 1, 1, 200, 200, 200]);
    expect((await shelf.list()).tasks).toHaveLength(50);
  });

  it('refuses a new task beyond its capacity, and still saves and deletes known ones', async () => {
    const shelf = createTaskShelf({ storage, owner: newOwner(), maxTasks: 3 });
    for (const id of ['c-1', 'c-2', 'c-3']) await shelf.save(taskOf(id));
    await expect(shelf.save(taskOf('c-4'))).rejects.toThrow('Task store capacity exceeded');
    await shelf.save(taskOf('c-3', { metadata: { known: true } }));
    expect(await shelf.get('c-3')).toMatchObject({ metadata: { known: true } });
    await shelf.delete('c-1');
    await shelf.save(taskOf('c-4'));
    expect(idsOf((await shelf.list()).tasks)).toEqual(['c-2', 'c-3', 'c-4']);
  });

  it('takes no capacity that it could not keep to', () => {
    const shelfOf = (maxTasks: number) => createTaskShelf({ storage, owner: newOwner(), maxTasks });
    expect(() => shelfOf(10_001)).toThrow('maxTasks is 10001');
    for (const maxTasks of [10_000, Infinity]) expect(() => shelfOf(maxTasks)).not.toThrow();
  });

  it('gives its last place to one of many who come at the same moment', async () => {
    const shelf = createTaskShelf({ storage, owner: newOwner(), maxTasks: 5 });
    const saves = await Promise.allSettled(
      Array.from({ length: 20 }, (_, number) => shelf.save(taskOf(`p-${number}`))),
    );
    expect(saves.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
    expect((await shelf.list()).tasks).toHaveLength(5);
  });

  it('keeps one webhook per task, which goes with its task', async () => {
    const shelf = createTaskShelf({ storage, owner: newOwner() });
    await shelf.save(taskOf('w-1'));
    expect(await shelf.getPushConfig('w-1')).toBeNull();
    await shelf.savePushConfig('w-1', { url: 'https://example.com/hook', token: 'secret' });
    expect(await shelf.getPushConfig('w-1')).toEqual({
      taskId: 'w-1',
      url: 'https://example.com/hook',
      token: 'secret',
      authentication: null,
      status: 'active',
    });
    await shelf.savePushConfig('w-1', { url: 'https://example.com/other', status: 'failed' });
    expect(await shelf.getPushConfig('w-1')).toEqual({
      taskId: 'w-1',
      url: 'https://example.com/other',
      token: null,
      authentication: null,
      status: 'failed',
    });
    expect([await shelf.deletePushConfig('w-1'), await shelf.deletePushConfig('w-1')]).toEqual([true, false]);
    await shelf.savePushConfig('w-1', { url: 'https://example.com/hook' });
    await shelf.delete('w-1');
    await shelf.save(taskOf('w-1'));
    expect(await shelf.getPushConfig('w-1')).toBeNull();
    await expect(shelf.savePushConfig('nobody', { url: 'https://example.com' })).rejects.toMatchObject({
      code: 'task-not-found',
    });
  });

  it('of one owner shows nothing to another, webhooks included', async () => {
    const [mine, other] = [
      createTaskShelf({ storage, owner: newOwner() }),
      createTaskShelf({ storage, owner: newOwner() }),
    ];
    await mine.save(taskOf('x-1'));
    await mine.savePushConfig('x-1', { url: 'https://example.com/mine' });
    expect([await other.get('x-1'), await other.delete('x-1'), (await other.list()).tasks]).toEqual([null, false, []]);
    await expect(other.save(taskOf('x-1'))).rejects.toBeInstanceOf(Error);
    expect(await other.getPushConfig('x-1')).toBeNull();
    await expect(other.savePushConfig('x-1', { url: 'https://example.com/stolen' })).rejects.toMatchObject({
      code: 'task-not-found',
    });
    expect(await other.deletePushConfig('x-1')).toBe(false);
    expect(await mine.getPushConfig('x-1')).toMatchObject({ url: 'https://example.com/mine' });
  });
});
