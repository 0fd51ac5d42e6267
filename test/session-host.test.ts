import {
  createSessionAgent,
  createSessionService,
  type EngineSettings,
  type SessionHost,
  type ViewTask,
} from 'sealane';
import { describe, expect, it } from 'vitest';

import { answerOf } from './support/a2a-client.ts';
import { isState } from './support/event-stream.ts';
import { openService } from './support/service.ts';

interface Sent {
  readonly sessionKey: string;
  readonly id: string;
  readonly text: string;
}

/** A host with sessions of its own: it notes what it is handed, and the test says what becomes of it. */
const openHost = async (overrides: Partial<SessionHost> = {}, settings: Partial<EngineSettings> = {}) => {
  const sent: Sent[] = [];
  const aborted: string[] = [];
  const waiting: ((entry: Sent) => void)[] = [];
  const host: SessionHost = {
    sendToSession: async (sessionKey, { id, message }) => {
      const entry = { sessionKey, id, text: message.parts[0]?.text ?? '' };
      sent.push(entry);
      waiting.shift()?.(entry);
    },
    abortSession: async (_sessionKey, taskId) => {
      aborted.push(taskId);
    },
    ...overrides,
  };
  const agent = createSessionAgent(host);
  const service = await openService({ agents: { host: { connector: agent.connector } }, settings });
  const sessions = createSessionService({
    tasks: service.sealane.tasks,
    storage: service.sealane.storage,
    caller: service.caller,
    agent: 'host',
  });
  const send = async (text: string, contextId = 'ctx-123'): Promise<ViewTask> => {
    const task = await sessions.sendMessage({
      message: { messageId: text, role: 'ROLE_USER', parts: [{ text }], contextId },
    });
    if (!('status' in task)) throw new Error('A task was expected.');
    return task;
  };
  return {
    agent,
    sessions,
    send,
    sent,
    aborted,
    client: service.client,
    /** The n-th message that a session is handed, from 0. */
    handed: async (index: number): Promise<Sent> =>
      sent[index] ?? (await new Promise<Sent>((resolve) => waiting.push(resolve))),
    [Symbol.asyncDispose]: () => service.close(),
  };
};

describe('a host of sessions', () => {
  it('is handed one message at a time per session; the others wait where everybody can see them', async () => {
    await using host = await openHost();
    const { sessions, agent } = host;
    expect(await sessions.canDispatch('ctx-123')).toBe(true);
    const [a, b, c] = [await host.send('a'), await host.send('b'), await host.send('c')];
    expect([a, b, c].map(({ status }) => status.state)).toEqual(['working', 'submitted', 'submitted']);
    expect(b.metadata).toMatchObject({ queuedAt: expect.any(Number), queuePosition: 1 });
    expect(await sessions.canDispatch('ctx-123')).toBe(false);
    expect((await sessions.getPendingTasks('ctx-123')).map(({ id }) => id)).toEqual([b.id, c.id]);

    const first = await host.handed(0);
    expect(first).toMatchObject({ id: a.id, text: 'a', sessionKey: sessions.contextToSession('ctx-123') });
    expect(agent.getActiveTaskForSession(first.sessionKey)).toBe(a.id);
    agent.completeTask(a.id, 'answer to a');
    expect((await host.handed(1)).id).toBe(b.id);
    expect(await sessions.getTask(a.id)).toMatchObject({
      status: { state: 'completed' },
      artifacts: [{ parts: [{ text: 'answer to a' }] }],
    });
    agent.onSessionComplete(first.sessionKey);
    expect((await host.handed(2)).id).toBe(c.id);
    expect(await sessions.getPendingTasks('ctx-123')).toEqual([]);
    agent.completeTask(c.id);
  });

  it('takes in tasks that it has made and named itself, and says what became of them', async () => {
    await using host = await openHost();
    const { sessions, agent } = host;
    const taskOf = (id: string, text: string) => ({
      id,
      contextId: 'ctx-123',
      metadata: { by: 'the host' },
      history: [{ messageId: `m-${id}`, role: 'ROLE_USER', parts: [{ text }] } as const],
    });
    await sessions.dispatch(taskOf('mine-1', 'first'));
    await sessions.dispatch(taskOf('mine-2', 'second'));
    expect(await host.handed(0)).toMatchObject({ id: 'mine-1', text: 'first' });
    expect(await sessions.getTask('mine-2')).toMatchObject({
      status: { state: 'submitted' },
      metadata: { by: 'the host', queuedAt: expect.any(Number) },
    });
    await agent.onTaskComplete('mine-1', { response: 'done' });
    expect((await host.handed(1)).id).toBe('mine-2');
    const watching = await host.client.subscribe('mine-2');
    await agent.onTaskComplete('mine-2', { error: new Error('It went wrong.') });
    await watching.until(isState('TASK_STATE_FAILED'));
    const [first, second] = [await sessions.getTask('mine-1'), await sessions.getTask('mine-2', { historyLength: 1 })];
    expect(first).toMatchObject({ status: { state: 'completed' }, artifacts: [{ parts: [{ text: 'done' }] }] });
    expect([second.status.state, second.history.length]).toEqual(['failed', 1]);
    expect((await sessions.getTask('mine-1', { historyLength: 0 })).history).toEqual([]);
    await expect(sessions.dispatch({ id: 'mine-3' })).rejects.toThrow('nothing is to be done');
  });

  it('works in several contexts at the same time', async () => {
    await using host = await openHost();
    const tasks = [await host.send('here', 'ctx-123'), await host.send('there', 'ctx-456')];
    expect(tasks.map(({ status }) => status.state)).toEqual(['working', 'working']);
    const keys = [(await host.handed(0)).sessionKey, (await host.handed(1)).sessionKey];
    expect(keys.map((key) => host.sessions.sessionToContext(key))).toEqual(['ctx-123', 'ctx-456']);
  });

  it('says what it says while it works, and callers read it as it comes', async () => {
    await using host = await openHost();
    const task = await host.send('talk to me');
    const { sessionKey } = await host.handed(0);
    const watching = await host.client.subscribe(task.id);
    host.agent.onSessionMessage(sessionKey, 'Hello, ');
    host.agent.onSessionMessage(sessionKey, { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'world.' }] });
    host.agent.onSessionComplete(sessionKey);
    await watching.until(isState('TASK_STATE_COMPLETED'));
    expect(answerOf(await host.client.get(task.id))).toBe('Hello, world.');
  });

  it('can fail a task, and one that cannot take a message has failed it', async () => {
    await using host = await openHost({
      sendToSession: async (_key, { message }) => {
        if (message.parts[0]?.text === 'unreachable') throw new Error('The session is gone.');
      },
    });
    const failing = await host.send('fail me');
    const watching = await host.client.subscribe(failing.id);
    host.agent.failTask(failing.id, new Error('It went wrong.'));
    await watching.until(isState('TASK_STATE_FAILED'));
    expect(await host.sessions.getTask(failing.id)).toMatchObject({
      status: { message: { parts: [{ text: 'It went wrong.' }] } },
    });
    const refused = await host.client.send('unreachable');
    expect(refused.status).toMatchObject({
      state: 'TASK_STATE_FAILED',
      message: { parts: [{ text: 'The session is gone.' }] },
    });
  });

  it('is told to stop what it does when a task is canceled, and the next one starts after that', async () => {
    const stopped = Promise.withResolvers<void>();
    await using host = await openHost({ abortSession: () => stopped.promise });
    const [a, b] = [await host.send('a'), await host.send('b')];
    await host.handed(0);
    const canceling = host.sessions.cancelTask(a.id);
    await host.client.list();
    expect(host.sent.map(({ id }) => id)).toEqual([a.id]);
    stopped.resolve();
    expect((await canceling).status.state).toBe('canceled');
    expect((await host.handed(1)).id).toBe(b.id);
    expect(host.agent.getActiveTaskForSession(host.sessions.contextToSession('ctx-123'))).toBe(b.id);
  });

  it.each<[string, () => Promise<void>]>([
    ['rejects', () => Promise.reject(new Error('no such run'))],
    [
      'throws',
      () => {
        throw new Error('no such run');
      },
    ],
  ])('that cannot stop, and %s, keeps its session to itself until it says that it is done', async (_how, abort) => {
    await using host = await openHost({ abortSession: abort }, { cancelGraceMs: 50 });
    const [a, b] = [await host.send('a'), await host.send('b')];
    const { sessionKey } = await host.handed(0);
    expect(await host.sessions.cancelTask(a.id)).toMatchObject({
      status: { state: 'canceled' },
      metadata: { forced: true },
    });
    expect((await host.sessions.getTask(b.id)).status.state).toBe('submitted');
    host.agent.onSessionComplete(sessionKey);
    expect((await host.handed(1)).id).toBe(b.id);
  });

  it('maps contexts to sessions and back, whatever characters they have', async () => {
    await using host = await openHost();
    for (const contextId of ['ctx-123', 'user:1/session:2', 'a b', '🦭', '%2F', 'Ctx-123', '']) {
      expect(host.sessions.sessionToContext(host.sessions.contextToSession(contextId))).toBe(contextId);
    }
  });

  it('shows everything that waits, however much, in the order in which it will run', async () => {
    await using host = await openHost();
    const sent: string[] = [];
    for (let number = 0; number < 250; number += 1) sent.push((await host.send(`task ${number}`)).id);
    expect((await host.sessions.getPendingTasks('ctx-123')).map(({ id }) => id)).toEqual(sent.slice(1));
  });

  it('shows an old task whose answer waits where the answer stands, not where the task stood', async () => {
    await using service = await openService();
    const { client } = service;
    const sessions = createSessionService({
      tasks: service.sealane.tasks,
      storage: service.sealane.storage,
      caller: service.caller,
      agent: 'echo',
    });
    const contextId = 'ctx-123';
    const asked = await client.send('@ask which?', { contextId });
    await client.submit('@sleep 600000', { contextId });
    const later = await client.submit('later', { contextId });
    await client.submit('this one', { taskId: asked.id });
    expect((await sessions.getPendingTasks(contextId)).map(({ id }) => id)).toEqual([later.id, asked.id]);
  });

  it('lists and streams as the service does', async () => {
    await using host = await openHost();
    const task = await host.send('listed');
    await host.handed(0);
    const leaving = new AbortController();
    const items: string[] = [];
    const stream = await host.sessions.subscribeToTask(task.id, leaving.signal);
    host.agent.completeTask(task.id, 'done');
    for await (const item of stream) items.push(item.kind === 'event' ? item.event.event.kind : item.kind);
    expect(items).toEqual(['task', 'artifact-added', 'turn-ended']);
    expect(await host.sessions.listTasks({ contextId: 'ctx-123' })).toMatchObject({
      tasks: [{ id: task.id, status: { state: 'completed' } }],
      nextPageToken: null,
    });
  });
});
