import { join } from 'node:path';

import {
  type AgentConnector,
  type Caller,
  createEchoAgent,
  createSealane,
  type RunRef,
  type Sealane,
  sessionKeyOf,
} from 'sealane';
import { openStore } from 'sealane/store';
import { describe, expect, it } from 'vitest';

import { eventually } from './support/eventually.ts';
import { createGateAgent } from './support/gate-agent.ts';
import { freshFolder } from './support/served-process.ts';
import { openService } from './support/service.ts';

const caller: Caller = { owner: 'ann', keyId: 'x', admin: false, agents: null, permission: 'guarded', tenant: '' };
const { signal } = new AbortController();
const requestOf = (text: string, contextId = 'one') => ({
  message: { messageId: text, role: 'ROLE_USER', parts: [{ text }], contextId } as const,
  dialect: '1.0',
});
const submit = async (sealane: Sealane, text: string) => {
  const outcome = await sealane.tasks.send(caller, requestOf(text), { wait: false, signal });
  if (outcome.kind !== 'task') throw new Error('A task was expected.');
  return outcome.task;
};

const never = (): Promise<never> => new Promise(() => undefined);

describe('a service whose agents do not close', () => {
  it.each([
    [
      'because they throw',
      () => {
        throw new Error('no');
      },
    ],
    ['because they fail', () => Promise.reject(new Error('no'))],
  ])('%s is closed all the same, and lets its file go', async (_why, close) => {
    using folder = freshFolder();
    const store = `sqlite:${join(folder.path, 'tasks.db')}`;
    const agents = { one: { ...createEchoAgent(), close }, two: createEchoAgent() };
    const first = await createSealane({ store, agents });
    await first.close();
    const second = await createSealane({ store, agents });
    await second.close();
  });

  it('when they are exchanged goes on', async () => {
    const closed = Promise.withResolvers<void>();
    const odd: AgentConnector = {
      ...createEchoAgent(),
      close: () => {
        closed.resolve();
        return Promise.reject(new Error('no'));
      },
    };
    await using service = await openService({ agents: { odd } });
    service.sealane.replaceAgents({ echo: createEchoAgent() });
    await closed.promise;
    expect((await service.client.send('hello')).status.state).toBe('TASK_STATE_COMPLETED');
  });
});

describe('an exchange of agents', () => {
  it('that takes an agent away while its task is on the way in ends that task', async () => {
    await using service = await openService({ agents: { gone: createEchoAgent() } });
    const { tasks } = service.sealane;
    const sent = tasks.send(caller, requestOf('hello'), { wait: true, waitMs: 30_000, signal });
    service.sealane.replaceAgents({ other: createEchoAgent() });
    expect(await sent).toMatchObject({
      kind: 'task',
      task: { state: 'failed', statusMessage: expect.stringContaining('\\"gone\\" is no longer configured') },
    });
  });

  it('closes a connector that has two names once, and one that is back before its runs are over not at all', async () => {
    const closes: string[] = [];
    const gate = createGateAgent();
    const closing = (name: string, connector: AgentConnector): AgentConnector => ({
      ...connector,
      close: async () => void closes.push(name),
    });
    const shared = closing('shared', createEchoAgent());
    const back = closing('back', gate.connector);
    await using service = await openService({
      agents: { one: shared, two: shared, back: { connector: back, default: true } },
    });
    const { sealane, client } = service;
    const sent = client.send('work');
    const run = await gate.started('work');
    sealane.replaceAgents({ echo: closing('echo', createEchoAgent()) });
    sealane.replaceAgents({ back });
    run.end();
    expect((await sent).status.state).toBe('TASK_STATE_COMPLETED');
    await eventually(() => expect(closes.toSorted()).toEqual(['echo', 'shared']));
  });
});

describe('a service that is closed', () => {
  it('lets the tasks end that were on their way in', async () => {
    await using storage = await openStore('memory');
    const sealane = await createSealane({ store: storage, agents: { echo: createEchoAgent() } });
    const sent = Array.from({ length: 5 }, (_, index) =>
      sealane.tasks.send(caller, requestOf(`hello ${index}`, `context ${index}`), { wait: true, signal }),
    );
    await sealane.close();
    for (const outcome of await Promise.all(sent)) expect(outcome).toMatchObject({ task: { state: 'completed' } });
  });

  it('answers those who wait for a task of it at once, and ends their streams', async () => {
    const gate = createGateAgent();
    const sealane = await createSealane({
      store: 'memory',
      agents: { gate: gate.connector },
      settings: { drainMs: 0 },
    });
    const first = await submit(sealane, 'first');
    await gate.started('first');
    const waiting = sealane.tasks.send(caller, requestOf('second'), { wait: true, signal });
    const stream = await sealane.tasks.stream(caller, requestOf('third'), { signal });
    const seen: string[] = [];
    const reading = (async () => {
      for await (const item of stream) seen.push(item.kind);
    })();
    await eventually(async () =>
      expect((await sealane.tasks.list(caller, { limit: 9, withArtifacts: false })).tasks).toHaveLength(3),
    );
    await sealane.close();
    expect(await waiting).toMatchObject({ kind: 'task', task: { state: 'submitted' } });
    await reading;
    expect(seen).toEqual(['task']);
    expect(first.state).toBe('working');
    await expect(submit(sealane, 'late')).rejects.toMatchObject({ code: 'unavailable' });
    await expect(sealane.listenGrpc()).rejects.toMatchObject({ code: 'unavailable' });
  });
});

describe('a run that was left behind, whose agent', () => {
  const left = (stop: AgentConnector['stop']): AgentConnector => ({
    kind: 'left',
    session: sessionKeyOf,
    run: async (turn, io) => {
      if (turn.message.messageId !== 'stay') return { state: 'completed' };
      await io.remember({ run: 1 } satisfies RunRef);
      await io.emit({ kind: 'status', message: io.say('begun') });
      return await never();
    },
    stop,
    close: async () => undefined,
  });

  it.each<[string, AgentConnector['stop']]>([
    ['never says whether it is dead', never],
    ['says something else than whether it is dead', async () => 'perhaps' as 'dead'],
    [
      'throws when it is asked whether it is dead',
      () => {
        throw new Error('no');
      },
    ],
  ])('%s ends, and its lane goes on after the quarantine', async (_what, stop) => {
    using folder = freshFolder();
    const options = {
      store: `sqlite:${join(folder.path, 'tasks.db')}`,
      agents: { left: left(stop) },
      settings: { drainMs: 0, cancelGraceMs: 100, quarantineMs: 100 },
    };
    const storage = await openStore(options.store);
    const crashed = await createSealane({ ...options, store: storage });
    const { id } = await submit(crashed, 'stay');
    await eventually(async () => expect((await crashed.tasks.get(caller, id)).statusMessage).toContain('begun'));
    // As if the process were gone: the store is closed under the run.
    await storage.close();
    await using sealane = await createSealane(options);
    await eventually(async () => expect((await sealane.tasks.get(caller, id)).state).toBe('failed'));
    const next = await sealane.tasks.send(caller, requestOf('next'), { wait: true, waitMs: 30_000, signal });
    expect(next).toMatchObject({ task: { state: 'completed' } });
    await crashed.close();
  });
});
