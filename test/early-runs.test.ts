import { randomUUID } from 'node:crypto';

import { type AgentConnector, sessionKeyOf, type StoredTask, textOf } from 'sealane';
import { openStore, type Storage } from 'sealane/store';
import { describe, expect, it } from 'vitest';

import { eager, soon, withoutAnswer, withTasks } from './support/early-runs.ts';
import { freshSchema } from './support/fresh-schema.ts';
import { createGateAgent } from './support/gate-agent.ts';
import { open as openPostgres } from './support/postgres-stores.ts';
import { openService } from './support/service.ts';

/** A storage that notes what is written about tasks. */
const noting = (storage: Storage, calls: string[]): Storage =>
  withTasks(storage, (tasks) => ({
    admit: (admission) => {
      calls.push(admission.answer ? 'admit with an answer' : 'admit');
      return tasks.admit(admission);
    },
    append: (...words) => {
      calls.push('append');
      return tasks.append(...words);
    },
    finish: (...words) => {
      calls.push('finish');
      return tasks.finish(...words);
    },
    interventions: async () => [],
    read: (...words) => {
      calls.push('read');
      return tasks.read(...words);
    },
  }));

/** A storage whose admissions take until the test lets them. */
const slow = (storage: Storage) => {
  const disk = Promise.withResolvers<void>();
  const store = withTasks(storage, (tasks) => ({
    admit: async (admission) => {
      await disk.promise;
      return await tasks.admit(admission);
    },
  }));
  return { store, disk };
};

describe.each(['memory', 'PostgreSQL'])('an agent that answers at once, on %s,', (kind) => {
  const open = async () => {
    const storage = kind === 'memory' ? await openStore('memory') : await openPostgres(freshSchema());
    const calls: string[] = [];
    const service = await openService({ store: noting(storage, calls) });
    return {
      service,
      client: service.client,
      calls,
      [Symbol.asyncDispose]: async () => {
        await service.close();
        await storage.close();
      },
    };
  };

  it('is stored with its end, in one step, and looks like any other', async () => {
    await using own = await open();
    const { client, calls } = own;
    const [sent, submitted] = [await client.send('hello'), await client.submit('hello')];
    expect(calls).toEqual(['admit with an answer', 'admit with an answer']);
    for (const task of [sent, submitted]) {
      expect(task).toMatchObject({
        status: { state: 'TASK_STATE_COMPLETED', message: { parts: [{ text: 'hello' }] } },
        artifacts: [{ artifactId: 'answer-1', parts: [{ text: 'hello' }] }],
      });
      expect(await client.get(task.id)).toEqual(task);
    }
    // Asked and answered in more steps, by an agent that takes its time.
    const later = await client.send('@sleep 20');
    expect(calls.slice(2)).toEqual(['admit', 'finish']);
    const shape = (task: object): object =>
      JSON.parse(JSON.stringify(task, (name, value) => (name === 'text' ? '' : value)));
    expect(Object.keys(shape(later))).toEqual(Object.keys(shape(sent)));
    expect(await client.list({})).toMatchObject({ totalSize: 3 });
  });

  it('is streamed as it can be replayed: the task, what it says, and its end', async () => {
    await using own = await open();
    const { client, calls } = own;
    const events = await (await client.stream('hello')).rest();
    expect(calls).toEqual(['admit with an answer']);
    expect(events.map(({ id }) => id)).toEqual([2, 3, 4]);
    const [{ task } = {}, said, ended] = events;
    expect(task?.status.state).toBe('TASK_STATE_WORKING');
    expect(said?.artifactUpdate?.artifact.parts).toEqual([{ text: 'hello' }]);
    expect(ended?.statusUpdate?.status.state).toBe('TASK_STATE_COMPLETED');
    const replayed = await (await client.subscribe(task?.id ?? '', 2)).rest();
    expect(replayed).toEqual(events.slice(1));
  });

  it('gets a repeated message once', async () => {
    await using own = await open();
    const { client } = own;
    const headers = { 'idempotency-key': randomUUID() };
    const message = { messageId: 'the same' };
    const tasks = await Promise.all(Array.from({ length: 5 }, () => client.send('once', { headers, ...message })));
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(1);
    expect(await client.list({})).toMatchObject({ totalSize: 1 });
    await expect(client.send('another', { headers, ...message })).rejects.toThrow(/idempotency/i);
  });

  it('answers in the order of its lane, also where it has answered before the lane was free', async () => {
    await using own = await open();
    const { client } = own;
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

describe('a run that begins before its task is stored', () => {
  it('is heard by nobody before it is', async () => {
    await using storage = await openStore('memory');
    const { store, disk } = slow(storage);
    await using service = await openService({ store });
    const { client } = service;
    const heard: string[] = [];
    const told = async (name: string, call: Promise<unknown>): Promise<void> => {
      await call;
      heard.push(name);
    };
    const calls = [
      told('sent', client.send('sent')),
      told('submitted', client.submit('submitted')),
      told('streamed', client.stream('streamed')),
      told(
        'direct',
        client.call('SendMessage', {
          message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: '@message hi' }] },
        }),
      ),
    ];
    await soon();
    expect(heard).toEqual([]);
    disk.resolve();
    await Promise.all(calls);
    expect(heard.toSorted()).toEqual(['direct', 'sent', 'streamed', 'submitted']);
  });

  it('takes its turn before those that come after it, however soon', async () => {
    await using service = await openService();
    const { caller, sealane } = service;
    for (const texts of [
      ['@sleep 5', 'b', '@sleep 1', 'd'],
      ['a', 'b', 'c', 'd'],
    ]) {
      const contextId = randomUUID();
      const sendAll = texts.map((text) => {
        const message = { messageId: text, role: 'ROLE_USER' as const, contextId, parts: [{ text }] };
        return sealane.tasks.send(caller, { message, dialect: '1.0' }, { wait: false });
      });
      const places = (await Promise.all(sendAll)).map((sent) =>
        sent.kind === 'task' ? (sent.task.queuePosition ?? 0) : undefined,
      );
      expect(places).toEqual([0, 1, 2, 3]);
    }
  });

  it('can go on while it is stored, and what it remembers is remembered after that', async () => {
    await using storage = await openStore('memory');
    const { store, disk } = slow(storage);
    const gate = createGateAgent();
    await using service = await openService({ store, agents: { gate: eager(gate) } });
    const sent = service.client.send('work');
    const run = await gate.started('work');
    const done: string[] = [];
    const remembered = run.io.remember({ pid: 1 }).then(() => done.push('remembered'));
    await run.io.emit({ kind: 'artifact', artifact: { artifactId: 'a', parts: [{ text: 'so far' }] } });
    await soon();
    expect(done).toEqual([]);
    disk.resolve();
    await remembered;
    run.end();
    expect(await sent).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ parts: [{ text: 'so far' }] }],
    });
  });

  it('hears of a cancel, and of its time', async () => {
    const gate = createGateAgent();
    await using service = await openService({ agents: { gate: { connector: eager(gate), taskTimeoutMs: 300 } } });
    const { client } = service;
    const task = await client.submit('to be canceled');
    expect((await client.cancel(task.id)).status.state).toBe('TASK_STATE_CANCELED');
    expect(await client.send('too slow')).toMatchObject({
      status: { state: 'TASK_STATE_FAILED' },
      metadata: { reason: 'timeout' },
    });
  });

  it('does not begin for an agent that does not say it may', async () => {
    await using storage = await openStore('memory');
    const { store, disk } = slow(storage);
    const gate = createGateAgent();
    await using service = await openService({ store, agents: { gate: gate.connector } });
    const sent = service.client.send('as ever');
    await soon();
    expect(gate.begun).toEqual([]);
    disk.resolve();
    (await gate.started('as ever')).end();
    expect((await sent).status.state).toBe('TASK_STATE_COMPLETED');
  });

  it('does not begin while another of its lane is seen to run', async () => {
    const gate = createGateAgent();
    await using service = await openService({ agents: { gate: { connector: eager(gate), concurrency: 8 } } });
    const { client } = service;
    const contextId = randomUUID();
    await client.submit('first', { contextId });
    const second = await client.submit('second', { contextId });
    expect(second.status.state).toBe('TASK_STATE_SUBMITTED');
    expect(gate.begun).toEqual(['first']);
    (await gate.started('first')).end();
    (await gate.started('second')).end();
    await expect.poll(async () => (await client.get(second.id)).status.state).toBe('TASK_STATE_COMPLETED');
    expect(gate.mostAtOnce()).toBe(1);
  });

  it('that asks and ends at once is streamed up to its question, like any other', async () => {
    const connector: AgentConnector = {
      kind: 'asks',
      session: sessionKeyOf,
      startsEarly: true,
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

  it('is not missed by a caller who waits, however quick the store is', async () => {
    await using storage = await openStore('memory');
    const ended: Promise<unknown>[] = [];
    // Its end is stored as soon as its task is, and told before the caller has begun to wait.
    const store = withTasks(storage, (tasks) => ({
      admit: async (admission) => {
        const admitted = await tasks.admit(withoutAnswer(admission));
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

  it('that is on its way into the store when the service stops is stored and answered first', async () => {
    await using storage = await openStore('memory');
    const { store, disk } = slow(storage);
    const service = await openService({ store });
    const sent = service.sealane.tasks.send(
      service.caller,
      { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'last' }] }, dialect: '1.0' },
      { wait: true },
    );
    const closed = service.close();
    await soon();
    disk.resolve();
    const outcome = (await sent) as { readonly task: StoredTask };
    await closed;
    expect(await storage.tasks.find('all', outcome.task.id)).toMatchObject({ state: 'completed' });
  });
});

it('an agent that looks back at what was said before finds it, also before its own task is stored', async () => {
  const seen: number[] = [];
  const connector: AgentConnector = {
    kind: 'recalls',
    session: sessionKeyOf,
    startsEarly: true,
    run: async (turn, io) => {
      seen.push((await turn.history()).length);
      return textOf(turn.message.parts) === 'ask'
        ? { state: 'input-required', message: io.say('what?') }
        : { state: 'completed', message: io.say('done') };
    },
    stop: async () => 'dead',
    close: async () => undefined,
  };
  await using service = await openService({ agents: { recalls: connector } });
  const task = await service.client.send('ask');
  expect(task.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
  expect((await service.client.send('this', { taskId: task.id })).status.state).toBe('TASK_STATE_COMPLETED');
  expect(seen).toEqual([0, 2]);
});
