import { randomUUID } from 'node:crypto';

import { createEchoAgent } from 'sealane';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type A2aClient, refusalOf } from './support/a2a-client.ts';
import { createAdminClient } from './support/admin-client.ts';
import { createGateAgent } from './support/gate-agent.ts';
import { openService, type TestService } from './support/service.ts';

const gate = createGateAgent();
let service: TestService;
let ann: A2aClient;
let bob: A2aClient;
beforeAll(async () => {
  service = await openService({
    agents: {
      echo: { connector: createEchoAgent(), default: true },
      gate: { connector: gate.connector },
      other: { connector: createEchoAgent() },
    },
  });
  [ann, bob] = await Promise.all([service.clientOf('ann'), service.clientOf('bob')]);
});
afterAll(() => service.close());

/** The whole answer to a call, with its id replaced: what a stranger could tell apart. */
const answerTo = async (
  client: A2aClient,
  method: string,
  id: string,
  params: object,
  headers = {},
): Promise<string> => {
  const response = await client.post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), headers);
  const kept = [...response.headers].filter(([name]) => name !== 'date' && name !== 'content-length');
  return `${response.status} ${JSON.stringify(kept)} ${await response.text()}`.replaceAll(id, 'THE-ID');
};

describe('what belongs to one owner', () => {
  it.each<[string, (id: string, contextId: string) => [method: string, params: object, headers?: object]]>([
    ['seen', (id) => ['GetTask', { id }]],
    ['canceled', (id) => ['CancelTask', { id }]],
    ['streamed', (id) => ['SubscribeToTask', { id }]],
    ['replayed', (id) => ['SubscribeToTask', { id }, { 'last-event-id': '0' }]],
    [
      'continued',
      (id) => ['SendMessage', { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }], taskId: id } }],
    ],
    [
      'continued as a stream',
      (id) => [
        'SendStreamingMessage',
        { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }], taskId: id } },
      ],
    ],
    [
      'pointed at',
      (id) => [
        'SendMessage',
        { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }], referenceTaskIds: [id] } },
      ],
    ],
  ])('is not %s by another: the answer is that of a task that does not exist, byte by byte', async (_what, callOf) => {
    for (const task of [
      await ann.send('private'),
      await ann.send('@ask private?'),
      await ann.submit('@sleep 600000'),
    ]) {
      const unknown = randomUUID();
      const [method, params, headers = {}] = callOf(task.id, task.contextId);
      const [same, other] = callOf(unknown, task.contextId);
      const foreign = await answerTo(bob, method, task.id, params, headers);
      expect(foreign).toBe(await answerTo(bob, same, unknown, other, headers));
      expect(foreign).toContain('-32001');
      expect(await ann.get(task.id)).toEqual(task);
    }
  });

  it('is not listed for another, whatever it asks for, and is not counted', async () => {
    const cleo = await service.clientOf('cleo');
    const task = await ann.send('private', { contextId: 'shared-name' });
    for (const filter of [
      {},
      { contextId: 'shared-name' },
      { status: 'TASK_STATE_COMPLETED' },
      { statusTimestampAfter: '2000-01-01T00:00:00Z' },
    ]) {
      expect(await cleo.list(filter)).toEqual({ tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 });
    }
    expect((await ann.list({ contextId: 'shared-name' })).tasks.map(({ id }) => id)).toEqual([task.id]);
  });

  it('is not listed for another by a page token that leaked', async () => {
    for (let count = 0; count < 3; count += 1) await ann.send('private');
    const { nextPageToken } = await ann.list({ pageSize: 1 });
    expect(nextPageToken).not.toBe('');
    const dora = await service.clientOf('dora');
    expect((await dora.list({ pageSize: 1, pageToken: nextPageToken })).tasks).toEqual([]);
  });

  it("is not deleted, canceled or read through the operator's interface by another", async () => {
    const task = await ann.send('private');
    const made = await service.admin.post<{ key: string }>('/keys', { name: 'bob-for-admin', owner: 'bob' });
    const asBob = createAdminClient(service.url, made.key);
    const refused = { status: 403, code: 'forbidden' };
    await expect(asBob.delete(`/tasks/${task.id}`)).rejects.toMatchObject(refused);
    await expect(asBob.post(`/tasks/${task.id}/cancel`)).rejects.toMatchObject(refused);
    await expect(asBob.get(`/tasks/${task.id}`)).rejects.toMatchObject(refused);
    await expect(asBob.get(`/tasks/${task.id}/events`)).rejects.toMatchObject(refused);
    await expect(asBob.get('/export')).rejects.toMatchObject(refused);
    expect(await ann.get(task.id)).toEqual(task);
  });

  it('does not share a conversation with another who uses the same contextId', async () => {
    const contextId = 'the-same';
    const [forAnn, forBob] = [ann.with({ path: '/agents/gate' }), bob.with({ path: '/agents/gate' })];
    const one = await forAnn.submit('of ann', { contextId });
    const two = await forBob.submit('of bob', { contextId });
    // Two lanes: neither waits for the other, and the agent is given two sessions.
    expect([one, two].map(({ status }) => status.state)).toEqual(['TASK_STATE_WORKING', 'TASK_STATE_WORKING']);
    const runs = await Promise.all([gate.started('of ann'), gate.started('of bob')]);
    expect(new Set(runs.map(({ turn }) => turn.session)).size).toBe(2);
    expect(runs.map(({ turn }) => turn.owner)).toEqual(['ann', 'bob']);
    expect((await forAnn.list({ contextId })).tasks.map(({ id }) => id)).toEqual([one.id]);
    expect((await forBob.list({ contextId })).tasks.map(({ id }) => id)).toEqual([two.id]);
    for (const run of runs) run.end();
  });

  it('is the same for all keys of its owner', async () => {
    const second = await service.clientOf('ann');
    const task = await ann.send('shared');
    expect(await second.get(task.id)).toEqual(task);
  });

  it('is out of reach from the address of another agent', async () => {
    const task = await ann.send('for echo');
    expect((await refusalOf(ann.with({ path: '/agents/other' }).get(task.id))).code).toBe(-32001);
    expect((await ann.with({ path: '/agents/echo' }).get(task.id)).id).toBe(task.id);
  });

  it('is separated by tenant as well', async () => {
    const task = await ann.send('here');
    expect((await refusalOf(ann.call('GetTask', { id: task.id, tenant: 'elsewhere' }))).code).toBe(-32001);
  });
});

describe('an agent that a key does not name', () => {
  it('tells its callers nothing of what it takes and requires', async () => {
    const strict = { extensions: [{ uri: 'urn:example:secret', required: true }], inputModes: ['image/png'] };
    await using guarded = await openService({
      agents: {
        echo: { connector: createEchoAgent() },
        strict: { connector: createEchoAgent(), default: true, ...strict },
      },
    });
    const limited = await guarded.clientOf('limited', { agents: ['echo'] });
    const parts = [{ text: 'hello', mediaType: 'text/plain' }];
    for (const call of [
      limited.with({ path: '/agents/strict' }).send('', { parts }),
      limited.send('', { parts, metadata: { executor: 'strict' } }),
      limited.send('', { parts }),
    ]) {
      const { code, message } = await refusalOf(call);
      expect([code, message]).toEqual([-32011, expect.not.stringMatching(/secret|image/)]);
    }
    // What it requires is no matter of those who speak with another.
    expect((await limited.send('hello', { metadata: { executor: 'echo' } })).status.state).toBe('TASK_STATE_COMPLETED');
    expect((await refusalOf(guarded.client.send('hello'))).code).toBe(-32008);
  });
});
