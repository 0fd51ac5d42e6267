import { Writable } from 'node:stream';

import { pino } from 'pino';
import { type AgentConnector, type RunEvent, type RunIo, sessionKeyOf, textOf, type TurnEnd } from 'sealane';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openService, type TestService } from './support/service.ts';

/** Connectors in JavaScript can say anything; these say what no type would let through. */
const end = (value: unknown) => async () => value as TurnEnd;
const say = (value: unknown) => async (io: RunIo) => {
  await io.emit(value as RunEvent);
  return { state: 'completed' } as const;
};
/** Nobody waits for the answer, which is a refusal. */
const sayAside = (value: unknown) => async (io: RunIo) => {
  void io.emit(value as RunEvent);
  await new Promise(setImmediate);
  return { state: 'completed' } as const;
};
/** What it said is in the log before it ends. */
const sayAndWork = (value: unknown) => async (io: RunIo) => {
  await io.emit(value as RunEvent);
  await new Promise(setImmediate);
  await io.remember({ said: true });
  return { state: 'completed' } as const;
};
const artifact = (given: object) => ({
  kind: 'artifact',
  artifact: { artifactId: 'a', parts: [{ text: 'x' }], ...given },
});
const message = (given: object) => ({ messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'x' }], ...given });
const question = (state: string) => ({ kind: 'ask', state, message: message({}) });
const unspeakable = (thrown: unknown) => async () => Promise.reject(thrown);

type Behaviour = (io: RunIo) => Promise<TurnEnd>;

const UNREADABLE: Readonly<Record<string, Behaviour>> = {
  'ends with nothing': end(undefined),
  'ends with nothing, and without a promise': (() => undefined) as unknown as Behaviour,
  'ends with a text': end('done'),
  'ends without a state': end({}),
  'ends as submitted': end({ state: 'submitted' }),
  'ends as working': end({ state: 'working' }),
  'ends in a state that nobody knows': end({ state: 'banana' }),
  'ends in a state that every object knows': end({ state: 'constructor' }),
  'ends with a text for a message': end({ state: 'completed', message: 'done' }),
  'ends with a message without parts': end({ state: 'completed', message: { messageId: 'm', role: 'ROLE_AGENT' } }),
  'ends with a message without an id': end({ state: 'completed', message: { role: 'ROLE_AGENT', parts: [] } }),
  'ends with a message in the form of A2A 0.3': end({ state: 'completed', message: message({ role: 'agent' }) }),
  'ends with a part that is nothing': end({ state: 'completed', message: message({ parts: [null] }) }),
  'ends with a text that is a number': end({ state: 'completed', message: message({ parts: [{ text: 5 }] }) }),
  'ends with extensions that are no list': end({ state: 'completed', message: message({ extensions: 'x' }) }),
  'ends with metadata that are a list': end({ state: 'completed', metadata: [1, 2] }),
  'ends with a reason that is an object': end({ state: 'failed', reason: {} }),
  'says nothing': say(undefined),
  'says something of no kind': say({ kind: 'foo' }),
  'gives an artifact without an id': say(artifact({ artifactId: undefined })),
  'gives an artifact whose id is a number': say(artifact({ artifactId: 7 })),
  'gives parts that are a text': say(artifact({ parts: 'abc' })),
  'gives parts that are a set': say(artifact({ parts: new Set([{ text: 'x' }]) })),
  'gives bytes that are no text': say(artifact({ parts: [{ raw: Buffer.from('x') }] })),
  'gives a file that is no base64': say(artifact({ parts: [{ raw: 'a file!' }] })),
  'gives a part that is two': say(artifact({ parts: [{ text: 'x', data: { y: 1 } }] })),
  'gives data that are a function': say(artifact({ parts: [{ data: () => 1 }] })),
  'reports a text for a message': say({ kind: 'status', message: 'thinking' }),
  'reports metadata that are a text': say({ kind: 'status', metadata: 'x' }),
  'asks by completing': sayAndWork(question('completed')),
  'asks in a state that nobody knows': sayAndWork(question('banana')),
  'says nothing, aside': sayAside(undefined),
  'says something of no kind, aside': sayAside({ kind: 'foo' }),
  'gives data that are a bigint, aside': sayAside(artifact({ parts: [{ data: 5n }] })),
};

const THROWN: Readonly<Record<string, Behaviour>> = {
  'throws nothing': unspeakable(undefined),
  'throws what has no text': unspeakable(Object.create(null)),
  'throws what refuses to be shown': unspeakable({
    toString: () => {
      throw new Error('no');
    },
  }),
};

const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  ...UNREADABLE,
  ...THROWN,
  'is fine': async (io) => ({ state: 'completed', message: io.say('fine') }),
  'throws a book': async () => {
    throw new Error('x'.repeat(3_000_000));
  },
  'ends with a book': async (io) => ({ state: 'completed', message: io.say('x'.repeat(3_000_000)) }),
  'reports a book': say({ kind: 'status', message: message({ parts: [{ text: 'x'.repeat(3_000_000) }] }) }),
  'hides a book in metadata': say(artifact({ metadata: { book: 'x'.repeat(3_000_000) } })),
  'gives books, aside': async (io) => {
    for (let n = 0; n < 3; n += 1) void io.emit(artifact({ parts: [{ text: 'x'.repeat(3_000_000) }] }) as RunEvent);
    await new Promise(setImmediate);
    return { state: 'completed' };
  },
  'remembers what is no JSON, aside': async (io) => {
    void io.remember({ big: 5n as unknown as number });
    await new Promise(setImmediate);
    return { state: 'completed' };
  },
  'uses one object for all its words': async (io) => {
    const part = { text: '' };
    const artifact = { artifactId: 'a', parts: [part] };
    for (const word of ['one ', 'two ', 'three']) {
      part.text = word;
      await io.emit({ kind: 'artifact', artifact, append: true });
    }
    return { state: 'completed' };
  },
  'uses one object for all its data': async (io) => {
    const data = { steps: [0] };
    const artifact = { artifactId: 'a', parts: [{ data }] };
    for (const step of [1, 2, 3]) {
      data.steps[0] = step;
      await io.emit({ kind: 'artifact', artifact, append: true });
    }
    return { state: 'completed' };
  },
  'cuts its text in the middle of characters': async (io) => {
    for (const text of ['a \ud83d', '\ude00 b \ud83d', '\ude00', '\ud83d']) {
      await io.emit({ kind: 'artifact', artifact: { artifactId: 'a', parts: [{ text }] }, append: true });
    }
    return { state: 'completed' };
  },
  'says half a character everywhere': async (io) => {
    const parts = [{ data: { half: '\ud800' } }, { text: '\udc00' }];
    await io.emit({ kind: 'status', message: io.say('\ud800'), metadata: { half: '\ud800' } });
    await io.emit({ kind: 'artifact', artifact: { artifactId: 'a', parts } });
    return { state: 'completed', message: io.say('\ud800'), reason: '\ud800', metadata: { half: '\ud800' } };
  },
  'writes base64 for addresses': say(artifact({ parts: [{ raw: '_-_-_w' }] })),
  'remembers a text': async (io) => {
    await io.remember('text' as unknown as { x: 1 });
    return { state: 'completed' };
  },
};

const odd: AgentConnector = {
  kind: 'odd',
  session: sessionKeyOf,
  run: (turn, io) => BEHAVIOURS[textOf(turn.message.parts)]!(io),
  stop: async () => 'dead',
  close: async () => undefined,
};

/** One for all, so that each is the neighbour of the others. A task without an end is told as it is after a while. */
let service: TestService;
beforeAll(async () => {
  service = await openService({ agents: { odd }, settings: { waitMs: 30_000 } });
});
afterAll(() => service.close());

/** The task, its lane and everybody who reads it, after the agent did what it does. */
const outcomeOf = async (behaviour: string) => {
  const { client } = service;
  const task = await client.send(behaviour, { contextId: behaviour });
  const asOf03 = { 'a2a-version': '0.3' };
  expect(await client.call('tasks/get', { id: task.id }, asOf03)).toMatchObject({ id: task.id });
  expect(await client.call('tasks/list', { contextId: behaviour }, asOf03)).toMatchObject({ tasks: [{ id: task.id }] });
  expect((await client.send('is fine', { contextId: behaviour })).status.state).toBe('TASK_STATE_COMPLETED');
  return task;
};

describe('an agent that', () => {
  it.each(Object.keys(UNREADABLE))(
    '%s fails its task as unwritable; all can read it, and the lane goes on',
    async (name) => {
      expect(await outcomeOf(name)).toMatchObject({
        status: { state: 'TASK_STATE_FAILED' },
        metadata: { reason: 'unwritable' },
      });
    },
  );

  it.each(Object.keys(THROWN))('%s fails its task in words of ours, and the lane goes on', async (name) => {
    expect(await outcomeOf(name)).toMatchObject({
      status: {
        state: 'TASK_STATE_FAILED',
        message: { parts: [{ text: 'The agent failed and did not say why.' }] },
      },
      metadata: { reason: 'error' },
    });
  });

  it('throws a book has only its beginning told', async () => {
    const { status } = await outcomeOf('throws a book');
    expect(status.message?.parts[0]?.text).toBe('x'.repeat(16 * 1024));
  });

  it.each(['ends with a book', 'reports a book', 'hides a book in metadata', 'gives books, aside'])(
    '%s is held to the limits like any other',
    async (name) => {
      expect(await outcomeOf(name)).toMatchObject({
        status: { state: 'TASK_STATE_FAILED' },
        metadata: { reason: 'too-large' },
      });
    },
  );

  it('remembers what cannot be kept, and does not wait to hear so, goes on', async () => {
    expect((await outcomeOf('remembers what is no JSON, aside')).status.state).toBe('TASK_STATE_COMPLETED');
  });

  it('remembers what is no object is told what it should be', async () => {
    const { status } = await outcomeOf('remembers a text');
    expect(status.message?.parts[0]?.text).toContain('must be an object');
  });

  it('uses one object for all its words is quoted as it spoke', async () => {
    const { artifacts } = await outcomeOf('uses one object for all its words');
    expect(artifacts).toMatchObject([{ parts: [{ text: 'one two three' }] }]);
  });

  it('cuts its text in the middle of characters is read in whole ones, chunk by chunk', async () => {
    const { id, artifacts } = await outcomeOf('cuts its text in the middle of characters');
    expect(artifacts).toMatchObject([{ parts: [{ text: 'a 😀 b 😀' }] }]);
    expect(JSON.stringify(await service.client.call('tasks/events', { id }))).not.toMatch(/\\ud[89a-f]/);
  });

  it('says half a character is read without it, wherever it stood', async () => {
    const { id } = await outcomeOf('says half a character everywhere');
    const seen = [await service.client.call('tasks/events', { id }), await service.client.get(id)];
    expect(JSON.stringify(seen)).not.toMatch(/\\ud[89a-f]/);
  });

  it('writes base64 for addresses is read by those who know the other alphabet only', async () => {
    const { artifacts } = await outcomeOf('writes base64 for addresses');
    expect(artifacts).toMatchObject([{ parts: [{ raw: '/+/+/w==' }] }]);
  });

  it('uses one object for all its data is quoted as it was each time', async () => {
    const { artifacts } = await outcomeOf('uses one object for all its data');
    expect(artifacts).toMatchObject([{ parts: [1, 2, 3].map((step) => ({ data: { steps: [step] } })) }]);
  });

  it('ends without a promise has ended', async () => {
    const hasty = { ...odd, run: () => ({ state: 'completed' }) } as unknown as AgentConnector;
    await using service = await openService({ agents: { hasty } });
    expect((await service.client.send('go')).status.state).toBe('TASK_STATE_COMPLETED');
  });

  it('ends with what can be neither read nor logged has failed, and nothing else has', async () => {
    const bad = Object.defineProperty(new Error(), 'message', { get: () => fail() });
    const fail = (): never => {
      throw new Error('This cannot be shown.');
    };
    const end = Object.defineProperty({}, 'state', {
      get: () => {
        throw bad;
      },
    });
    const log = pino({}, new Writable({ write: (_chunk, _encoding, done) => done() }));
    await using service = await openService({ agents: { bad: { ...odd, run: async () => end as TurnEnd } }, log });
    expect((await service.client.send('go')).status.state).toBe('TASK_STATE_FAILED');
  });

  it('gives no session key gets no task, and its caller an error', async () => {
    for (const key of [undefined, '', 7, Promise.resolve('x'), Symbol('x')]) {
      await using service = await openService({ agents: { odd: { ...odd, session: () => key as string } } });
      await expect(service.client.send('is fine')).rejects.toMatchObject({ code: -32006 });
      expect((await service.client.list()).tasks).toEqual([]);
    }
  });

  it('reads its inbox twice gets each message once, and both readings end with the run', async () => {
    const heard: string[] = [];
    const readings: Promise<void>[] = [];
    const listening = Promise.withResolvers<void>();
    const twofold: AgentConnector = {
      ...odd,
      steerable: true,
      run: async (_turn, io) => {
        const first = Promise.withResolvers<void>();
        const read = async (): Promise<void> => {
          for await (const { parts } of io.inbox) {
            heard.push(textOf(parts));
            first.resolve();
          }
        };
        readings.push(read(), read());
        listening.resolve();
        await first.promise;
        return { state: 'completed' };
      },
    };
    await using service = await openService({ agents: { twofold } });
    const task = await service.client.submit('begin');
    await listening.promise;
    await service.client.send('go on', { taskId: task.id, contextId: task.contextId });
    await Promise.all(readings);
    expect(heard).toEqual(['go on']);
  });

  it('waits for an answer and for nothing else is dead when its task is canceled, and not only forced', async () => {
    const asked = Promise.withResolvers<void>();
    const patient: AgentConnector = {
      ...odd,
      run: async (_turn, io) => {
        await io.emit({ kind: 'ask', state: 'input-required', message: io.say('Which one?') });
        asked.resolve();
        for await (const { parts } of io.inbox) return { state: 'completed', message: io.say(textOf(parts)) };
        return { state: 'failed' };
      },
    };
    await using service = await openService({ agents: { patient } });
    const task = await service.client.submit('begin');
    await asked.promise;
    await expect.poll(async () => (await service.client.get(task.id)).status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    const canceled = await service.client.cancel(task.id);
    expect(canceled.status.state).toBe('TASK_STATE_CANCELED');
    expect(canceled.metadata?.['forced']).toBe(undefined);
  });
});
