import { type AgentConnector, type JsonObject, type RunIo, sessionKeyOf, textOf } from 'sealane';
import { describe, expect, it } from 'vitest';

import { freshSchema } from './support/fresh-schema.ts';
import { open as openPostgres } from './support/postgres-stores.ts';
import { openService } from './support/service.ts';

/** What is no JSON: a connector in JavaScript can say it all the same. */
const circular = (): JsonObject => {
  const loop: Record<string, unknown> = {};
  loop['loop'] = loop;
  return loop as JsonObject;
};
const bigNumber = (): JsonObject => ({ tokens: 12n }) as unknown as JsonObject;

const untilAborted = (io: RunIo): Promise<void> =>
  new Promise((resolve) => io.signal.addEventListener('abort', () => resolve(), { once: true }));

/** Says what cannot be stored at the moment that its message names. */
const careless: AgentConnector = {
  kind: 'careless',
  session: sessionKeyOf,
  run: async (turn, io) => {
    const order = textOf(turn.message.parts);
    const bad = order.includes('circular') ? circular() : bigNumber();
    if (order.startsWith('on its way')) {
      await io.emit({ kind: 'status', metadata: bad });
      await untilAborted(io);
    }
    if (order.startsWith('at its end')) return { state: 'completed', metadata: bad };
    if (order.startsWith('just before')) void io.emit({ kind: 'status', metadata: bad });
    if (order.startsWith('deaf')) {
      await io.emit({ kind: 'status', metadata: bad });
      await new Promise((resolve) => setTimeout(resolve, 1500));
    }
    if (order.startsWith('while it fails')) {
      void io.emit({ kind: 'status', metadata: bad });
      throw Object.assign(new Error('not now'), { retryable: true });
    }
    return { state: 'completed', message: io.say('fine') };
  },
  stop: async () => 'dead',
  close: async () => undefined,
};

const ORDERS = ['on its way', 'at its end', 'just before its end', 'deaf', 'while it fails'];

describe.each(['memory', 'PostgreSQL'])('words of an agent that cannot be stored, with %s,', (kind) => {
  const open = async () =>
    openService({
      store: kind === 'memory' ? 'memory' : await openPostgres(freshSchema()),
      agents: { careless: { connector: careless, recovery: 'retry', concurrency: 64 } },
      settings: { cancelGraceMs: 300, retryMs: 10 },
    });

  it.each(ORDERS.flatMap((order) => [`${order}, circular`, `${order}, a bigint`]))(
    '%s: their task fails and says so, its lane goes on',
    async (order) => {
      await using service = await open();
      const { client } = service;
      const failed = await client.send(order, { contextId: 'one' });
      expect(failed.status.state).toBe('TASK_STATE_FAILED');
      if (!order.startsWith('while it fails')) expect(failed.metadata).toMatchObject({ reason: 'unwritable' });
      const next = await client.send('nothing special', { contextId: 'one' });
      expect(next.status.state).toBe('TASK_STATE_COMPLETED');
    },
  );

  it('are the trouble of their own task alone', async () => {
    await using service = await open();
    const { client } = service;
    const tasks = await Promise.all(
      Array.from({ length: 60 }, (_, index) => client.send(index % 3 === 0 ? 'at its end, a bigint' : 'hello')),
    );
    expect(tasks.map(({ status }) => status.state)).toEqual(
      tasks.map((_, index) => (index % 3 === 0 ? 'TASK_STATE_FAILED' : 'TASK_STATE_COMPLETED')),
    );
  });
});
