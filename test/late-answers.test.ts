import { SealaneError, textOf } from 'sealane';
import { openStore, type Storage } from 'sealane/store';
import { describe, expect, it } from 'vitest';

import { eventually } from './support/eventually.ts';
import { createGateAgent } from './support/gate-agent.ts';
import { openService } from './support/service.ts';

/** A store that is shared, and whose first answer to a follow-up comes after the second. */
const overtaking = (storage: Storage): Storage => {
  const second = Promise.withResolvers<void>();
  let calls = 0;
  return {
    ...storage,
    tasks: {
      ...storage.tasks,
      exclusive: false,
      follow: async (...words) => {
        calls += 1;
        const isFirst = calls === 1;
        const answer = await storage.tasks.follow(...words);
        if (isFirst) await second.promise;
        else setImmediate(second.resolve);
        return answer;
      },
    },
  };
};

it('messages to a working agent all reach it, in the order of the log, also when the store answers in another', async () => {
  await using storage = await openStore('memory');
  const gate = createGateAgent({ steerable: true });
  await using service = await openService({ store: overtaking(storage), agents: { gate: gate.connector } });
  const { client } = service;
  const task = await client.submit('work');
  const run = await gate.started('work');
  const heard: string[] = [];
  const listening = (async () => {
    for await (const message of run.io.inbox) heard.push(textOf(message.parts));
  })();
  const first = client.submit('first', { taskId: task.id });
  await expect.poll(async () => (await client.get(task.id)).history).toHaveLength(2);
  await client.submit('second', { taskId: task.id });
  await first;
  await expect.poll(() => heard).toEqual(['first', 'second']);
  run.end();
  await listening;
});

/** A store that is shared, takes follow-ups in, and breaks off before it has said so. */
const speechless = (storage: Storage): Storage => ({
  ...storage,
  tasks: {
    ...storage.tasks,
    exclusive: false,
    follow: async (...words) => {
      await storage.tasks.follow(...words);
      throw new SealaneError('unavailable', 'The line is broken.');
    },
  },
});

it('a message to a working agent reaches it, also when nobody was told that it is stored', async () => {
  await using storage = await openStore('memory');
  const gate = createGateAgent({ steerable: true });
  await using service = await openService({
    store: speechless(storage),
    agents: { gate: gate.connector },
    settings: { pollMs: 20 },
  });
  const { client } = service;
  const task = await client.submit('work');
  const run = await gate.started('work');
  const first = run.io.inbox[Symbol.asyncIterator]().next();
  await expect(client.submit('listen', { taskId: task.id })).rejects.toMatchObject({ code: -32020 });
  expect(textOf((await first).value!.parts)).toBe('listen');
  run.end();
});

describe('an agent that asks while it works', () => {
  /** A store that takes what agents say in when it is told to. */
  const slow = (storage: Storage, isReady: Promise<void>): Storage => ({
    ...storage,
    tasks: {
      ...storage.tasks,
      append: async (...words) => {
        await isReady;
        return await storage.tasks.append(...words);
      },
    },
  });
  const statesOf = async (storage: Storage, id: string): Promise<readonly unknown[]> =>
    (await storage.tasks.read('all', id, 0, 100)).map(({ event }) => 'state' in event && event.state);

  it('ends as it says, also when a message that crosses with its question was the answer', async () => {
    await using storage = await openStore('memory');
    const ready = Promise.withResolvers<void>();
    const gate = createGateAgent({ steerable: true });
    await using service = await openService({ store: slow(storage, ready.promise), agents: { gate: gate.connector } });
    const { client } = service;
    const working = client.send('work');
    const run = await gate.started('work');
    const { taskId } = run.turn;
    await run.io.emit({ kind: 'ask', state: 'input-required', message: run.io.say('Which one?') });
    await client.submit('The blue one, by the way.', { taskId });
    ready.resolve();
    await run.io.inbox[Symbol.asyncIterator]().next();
    expect((await working).status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    run.end();
    await eventually(async () =>
      expect(await statesOf(storage, taskId)).toEqual([
        'submitted',
        'working',
        'working',
        'input-required',
        'working',
        'completed',
      ]),
    );
  });

  it('may ask for something else before anybody has answered', async () => {
    await using storage = await openStore('memory');
    const gate = createGateAgent();
    await using service = await openService({ store: storage, agents: { gate: gate.connector } });
    const task = await service.client.submit('work');
    const run = await gate.started('work');
    for (const state of ['input-required', 'auth-required', 'auth-required'] as const)
      await run.io.emit({ kind: 'ask', state, message: run.io.say('And?') });
    run.end();
    await eventually(async () =>
      expect(await statesOf(storage, task.id)).toEqual([
        'submitted',
        'working',
        'input-required',
        'working',
        'auth-required',
        'auth-required',
        'working',
        'completed',
      ]),
    );
  });
});
