import { randomUUID } from 'node:crypto';

import { type AgentConnector, createEchoAgent, sessionKeyOf, type StoredTask, textOf } from 'sealane';
import { openStore } from 'sealane/store';
import { describe, expect, it } from 'vitest';

import { withSlowAdmissions, withTasks } from './support/changed-tasks.ts';
import { freshSchema } from './support/fresh-schema.ts';
import { open as openPostgres } from './support/postgres-stores.ts';
import { openService } from './support/service.ts';

describe.each(['memory', 'PostgreSQL'])('an agent that answers at once, on %s,', (kind) => {
  const open = async () => openService({ store: kind === 'memory' ? 'memory' : await openPostgres(freshSchema()) });

  it('is streamed as it can be replayed: the task, what the agent says, and the end', async () => {
    await using service = await open();
    const { client } = service;
    const events = await (await client.stream('hello')).rest();
    expect(events.map(({ id }) => id)).toEqual([2, 3, 4]);
    const [{ task } = {}, said, ended] = events;
    expect(task?.status.state).toBe('TASK_STATE_WORKING');
    expect(said?.artifactUpdate?.artifact.parts).toEqual([{ text: 'hello' }]);
    expect(ended?.statusUpdate?.status.state).toBe('TASK_STATE_COMPLETED');
    const replayed = await (await client.subscribe(task?.id ?? '', 2)).rest();
    expect(replayed).toEqual(events.slice(1));
  });

  it('answers in the order of its lane', async () => {
    await using service = await open();
    const { client } = service;
    const contextId = randomUUID();
    const first = await client.submit('@sleep 150', { contextId });
    const rest = [];
    for (const text of ['b', 'c', 'd']) rest.push(await client.submit(text, { contextId }));
    expect(rest.map(({ status }) => status.state)).toEqual(Array(3).fill('TASK_STATE_SUBMITTED'));
    const ended = async (id: string) => (
      await (await client.subscribe(id).catch(() => undefined))?.rest(),
      client.get(id)
    );
    const done = [];
    for (const { id } of [first, ...rest]) done.push(await ended(id));
    expect(done.map(({ status }) => status.state)).toEqual(Array(4).fill('TASK_STATE_COMPLETED'));
    const at = done.map(({ status }) => status.timestamp);
    expect(at).toEqual(at.toSorted());
  });
});

describe('a run', () => {
  it('begins when its task is durable, and nobody is answered before', async () => {
    await using storage = await openStore('memory');
    const { store, disk, waiting } = withSlowAdmissions(storage);
    const told: string[] = [];
    const echo = createEchoAgent();
    const connector: AgentConnector = {
      ...echo,
      run: (turn, io) => {
        told.push(`run of ${textOf(turn.message.parts)}`);
        return echo.run(turn, io);
      },
    };
    await using service = await openService({ store, agents: { echo: connector } });
    const { client } = service;
    const note = async (name: string, call: Promise<unknown>): Promise<void> => {
      await call;
      told.push(name);
    };
    const direct = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: '@message hi' }] } };
    const calls = [
      note('sent', client.send('one')),
      note('submitted', client.submit('two')),
      note('streamed', client.stream('three')),
      note('direct', client.call('SendMessage', direct)),
    ];
    await waiting;
    // Whatever did not wait for the store would have answered before this call has gone out and come back.
    await client.list({});
    expect(told).toEqual([]);
    disk.resolve();
    await Promise.all(calls);
    expect(told.toSorted()).toEqual(
      ['one', 'two', 'three', '@message hi']
        .map((text) => `run of ${text}`)
        .concat('sent', 'submitted', 'streamed', 'direct')
        .toSorted(),
    );
  });

  it('that asks and ends at once is streamed up to its question', async () => {
    const connector: AgentConnector = {
      kind: 'asks',
      session: sessionKeyOf,
      run: async (_turn, io) => {
        await io.emit({ kind: 'ask', state: 'input-required', message: io.say('what?') });
        return { state: 'completed' };
      },
      stop: async () => 'dead',
      close: async () => undefined,
    };
    await using service = await openService({ agents: { asks: connector } });
    const events = await (await service.client.stream('go')).rest();
    expect(events.at(-1)?.statusUpdate?.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
  });

  it('whose end is stored before its admission is answered keeps no caller waiting', async () => {
    await using storage = await openStore('memory');
    const ended: Promise<unknown>[] = [];
    const store = withTasks(storage, (tasks) => ({
      admit: async (admission) => {
        const admitted = await tasks.admit(admission);
        if (!admitted.ok || !admitted.value.run) return admitted;
        const { token } = admitted.value.run;
        ended.push(tasks.finish(token, [{ kind: 'turn-ended', state: 'completed' }], admission.at, true));
        await ended.at(-1);
        return admitted;
      },
      finish: async () => ((await ended.at(-1)) ?? { ok: false, why: 'lost' }) as never,
    }));
    await using service = await openService({ store });
    const began = performance.now();
    expect((await service.client.send('hello')).status.state).toBe('TASK_STATE_COMPLETED');
    const events = await (await service.client.stream('hello')).rest();
    expect(events.at(-1)?.statusUpdate?.status.state).toBe('TASK_STATE_COMPLETED');
    expect(performance.now() - began).toBeLessThan(5000);
  });
});

it('a message that is on its way into the store when the service stops is stored and answered first', async () => {
  await using storage = await openStore('memory');
  const { store, disk, waiting } = withSlowAdmissions(storage);
  const service = await openService({ store });
  const sent = service.sealane.tasks.send(
    service.caller,
    { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'last' }] }, dialect: '1.0' },
    { wait: true },
  );
  await waiting;
  const closed = service.close();
  disk.resolve();
  const outcome = (await sent) as { readonly task: StoredTask };
  await closed;
  expect(await storage.tasks.find('all', outcome.task.id)).toMatchObject({ state: 'completed' });
});
