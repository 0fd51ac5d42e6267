import { createEchoAgent } from 'sealane';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type A2aClient, type WireTask } from './support/a2a-client.ts';
import { openService, type TestService } from './support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await openService({
    agents: { echo: { connector: createEchoAgent(), default: true }, second: { connector: createEchoAgent() } },
  });
});
afterAll(() => service.close());

const pagesOf = async (client: A2aClient, params: object): Promise<readonly WireTask[][]> => {
  const pages: WireTask[][] = [];
  let pageToken: string | undefined;
  do {
    const page = await client.list({ ...params, ...(pageToken && { pageToken }) });
    pages.push([...page.tasks]);
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
  return pages;
};
const idsOf = (tasks: readonly WireTask[]): readonly string[] => tasks.map(({ id }) => id);

describe('a list', () => {
  it('of large tasks has smaller pages, and all of the tasks', async () => {
    const bytes = 10_000_000;
    await using roomy = await openService({ settings: { eventBytes: bytes, artifactBytes: bytes, taskBytes: bytes } });
    const ids: string[] = [];
    for (let number = 0; number < 4; number += 1) ids.unshift((await roomy.client.send('@big 6000000')).id);
    const pages = await pagesOf(roomy.client, { includeArtifacts: true });
    expect(pages.map(idsOf)).toEqual([ids.slice(0, 3), ids.slice(3)]);
    expect(await pagesOf(roomy.client, {})).toHaveLength(1);
  });

  it('of many tasks that are large together has smaller pages, too', async () => {
    const bytes = 2_000_000;
    await using roomy = await openService({ settings: { eventBytes: bytes, artifactBytes: bytes, taskBytes: bytes } });
    for (let number = 0; number < 16; number += 1) await roomy.client.send('@big 1700000');
    const pages = await pagesOf(roomy.client, { includeArtifacts: true });
    expect(pages.map(({ length }) => length)).toEqual([10, 6]);
  });

  it('has newest statuses first, four members always, and no artifacts unless they are asked for', async () => {
    const client = await service.clientOf('lister');
    expect(await client.list()).toEqual({ tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 });
    const [one, two] = [await client.send('one'), await client.send('two')];
    const plain = await client.list();
    expect(idsOf(plain.tasks)).toEqual([two.id, one.id]);
    expect(plain.tasks.every((task) => !('artifacts' in task))).toBe(true);
    const full = await client.list({ includeArtifacts: true });
    expect(full.tasks).toEqual([two, one]);
    const { tasks } = await client.list({ includeArtifacts: true, status: 'TASK_STATE_FAILED' });
    expect(tasks).toEqual([]);
    const failed = await client.send('@fail no');
    // Asked for, artifacts are there even when there are none.
    expect((await client.list({ includeArtifacts: true, status: 'TASK_STATE_FAILED' })).tasks).toEqual([
      { ...failed, artifacts: [] },
    ]);
  });

  it('can be narrowed by context, state, time and agent, and by all of them', async () => {
    const client = await service.clientOf('narrow');
    const here = await client.send('here', { contextId: 'here' });
    const failed = await client.send('@fail no', { contextId: 'here' });
    await client.send('there', { contextId: 'there' });
    const asked = await client.with({ path: '/agents/second' }).send('@ask what?', { contextId: 'here' });
    const listed = async (params: object): Promise<readonly string[]> => idsOf((await client.list(params)).tasks);

    expect(await listed({ contextId: 'here' })).toEqual([asked.id, failed.id, here.id]);
    expect(await listed({ status: 'TASK_STATE_FAILED' })).toEqual([failed.id]);
    expect(await listed({ status: 'TASK_STATE_INPUT_REQUIRED', contextId: 'here' })).toEqual([asked.id]);
    expect(await listed({ contextId: 'nowhere' })).toEqual([]);
    // "After" includes the moment itself.
    expect(await listed({ statusTimestampAfter: asked.status.timestamp })).toContain(asked.id);
    expect(
      await listed({ statusTimestampAfter: new Date(Date.parse(asked.status.timestamp) + 1).toISOString() }),
    ).toEqual([]);
    expect(idsOf((await client.with({ path: '/agents/second' }).list()).tasks)).toEqual([asked.id]);
    expect((await client.list({ contextId: 'here', pageSize: 1 })).totalSize).toBe(3);
  });

  it.each(['9999-12-31T23:59:59.999999Z', '9999-12-31T23:59:59-12:00'])(
    'of what comes after the end of time (%s) is empty',
    async (statusTimestampAfter) => {
      await service.client.send('before it');
      expect(await service.client.list({ statusTimestampAfter })).toMatchObject({ tasks: [], totalSize: 0 });
    },
  );

  it('in pages shows every task once, while tasks are made, end and go away', async () => {
    const client = await service.clientOf('pager');
    const steady: string[] = [];
    for (let count = 0; count < 25; count += 1) steady.push((await client.send(`steady ${count}`)).id);
    const asking = await Promise.all(Array.from({ length: 5 }, (_, count) => client.send(`@ask ${count}`)));

    const seen: string[] = [];
    let pageToken = '';
    for (let page = 0; page === 0 || pageToken !== ''; page += 1) {
      const { tasks, nextPageToken } = await client.list({ pageSize: 4, ...(pageToken && { pageToken }) });
      expect(tasks.length).toBeLessThanOrEqual(4);
      seen.push(...idsOf(tasks));
      pageToken = nextPageToken;
      // Something changes between any two pages: a newcomer, an end, a deletion of what was shown.
      await client.send(`newcomer ${page}`);
      const next = asking[page];
      if (next) await client.send('answer', { taskId: next.id });
      if (page === 2) await service.admin.delete(`/tasks/${seen[0] === asking[4]?.id ? seen[7] : seen[0]}`);
    }
    expect(new Set(seen).size).toBe(seen.length);
    // Tasks that did not change are all there; those that did may have moved ahead of the reader.
    expect(steady.filter((id) => !seen.includes(id))).toEqual([]);
  });

  it('in pages of any size is the same list', async () => {
    const client = await service.clientOf('sizes');
    for (let count = 0; count < 7; count += 1) await client.send(`task ${count}`);
    const whole = await client.list({ pageSize: 100 });
    for (const pageSize of [1, 2, 3, 7, 100]) {
      const pages = await pagesOf(client, { pageSize });
      expect(pages).toHaveLength(Math.ceil(7 / pageSize));
      expect(pages.flat()).toEqual(whole.tasks);
    }
  });
});

describe('historyLength', () => {
  it('cuts the history to the newest messages, in every answer that shows a task', async () => {
    const { client } = service;
    const asked = await client.send('@ask what?', { contextId: 'history' });
    const done = await client.send('this', { taskId: asked.id });
    const whole = done.history!;
    expect(whole).toHaveLength(4);
    expect((await client.get(done.id)).history).toEqual(whole);
    expect((await client.get(done.id, 0)).history).toBeUndefined();
    expect((await client.get(done.id, 2)).history).toEqual(whole.slice(-2));
    expect((await client.get(done.id, 99)).history).toEqual(whole);
    expect((await client.list({ contextId: 'history', historyLength: 1 })).tasks[0]!.history).toEqual(whole.slice(-1));
    expect((await client.send('x', { configuration: { historyLength: 0 } })).history).toBeUndefined();
    const stream = await client.stream('y', { configuration: { historyLength: 0 } });
    expect((await stream.next())!.task!.history).toBeUndefined();
  });
});

describe('a task', () => {
  it('keeps every kind of part as it was sent', async () => {
    const parts = [
      { text: 'text with "quotes", 🦭 and\nlines' },
      { data: { nested: [1, 2.5, null, true, { deep: 'yes' }] }, mediaType: 'application/json' },
      { raw: Buffer.from('bytes').toString('base64'), filename: 'a.bin', mediaType: 'application/octet-stream' },
      { url: 'https://example.com/file', mediaType: 'text/plain' },
    ];
    const task = await service.client.send('', { parts });
    expect(task.history![0]!.parts).toEqual(parts);
    expect(task.artifacts![0]!.parts).toEqual(parts);
  });

  it('is there until it is deleted or purged, and then it is gone for everybody', async () => {
    const client = await service.clientOf('purged');
    const [one, two] = [await client.send('one'), await client.send('two')];
    await service.admin.delete(`/tasks/${one.id}`);
    expect(idsOf((await client.list()).tasks)).toEqual([two.id]);
    expect(await service.admin.post('/purge', { owner: 'purged' })).toEqual({ removed: 1 });
    expect((await client.list()).totalSize).toBe(0);
  });

  it('that has ended is deleted after its time', async () => {
    await using forgetful = await openService({ settings: { ttlMs: 200, janitorMs: 50 } });
    const done = await forgetful.client.send('soon forgotten');
    const open = await forgetful.client.send('@ask still here?');
    await expect.poll(async () => idsOf((await forgetful.client.list()).tasks)).toEqual([open.id]);
    await expect(forgetful.client.get(done.id)).rejects.toMatchObject({ code: -32001 });
  });
});
