import { join } from 'node:path';

import {
  type AgentConnector,
  createSealane,
  type RunIo,
  type Sealane,
  sessionKeyOf,
  textOf,
  type TurnEnd,
} from 'sealane';
import { describe, expect, it, onTestFinished } from 'vitest';

import { openPostgres } from '#store/postgres/index';

import { type A2aClient, createA2aClient, statusTextOf, type WireTask } from './support/a2a-client.ts';
import { eventually } from './support/eventually.ts';
import { freshSchema } from './support/fresh-schema.ts';
import { freshFolder } from './support/served-process.ts';

/** Work that goes on outside of the service, whoever listens to it. */
interface Outside {
  /** As each process that reaches it would make one for itself. */
  connector(): AgentConnector;
  /** The texts that it was asked to work on, in order. */
  readonly begun: readonly string[];
  /** How often somebody took up what went on. */
  readonly found: () => number;
  readonly killed: readonly string[];
  /** Resolves when the n-th listener is there, counted from 1. */
  heard(count: number): Promise<void>;
  end(text: string): void;
}

const openOutside = (options: { readonly letsGo: boolean } = { letsGo: true }): Outside => {
  const begun: string[] = [];
  const killed: string[] = [];
  const works = new Map<string, PromiseWithResolvers<void>>();
  let found = 0;
  let listeners = 0;

  const listen = async (text: string, io: RunIo): Promise<TurnEnd> => {
    listeners += 1;
    await io.emit({ kind: 'status', message: io.say(`listener ${listeners}`) });
    const aborted = new Promise<'aborted'>((resolve) =>
      io.signal.addEventListener('abort', () => resolve('aborted'), { once: true }),
    );
    if ((await Promise.race([works.get(text)?.promise, aborted])) !== 'aborted')
      return { state: 'completed', message: io.say(`${text} is done`) };
    if (options.letsGo && io.signal.reason === 'shutdown') return { state: 'canceled', goesOn: true };
    killed.push(text);
    return { state: 'canceled' };
  };

  return {
    begun,
    killed,
    found: () => found,
    heard: (count) => eventually(() => expect(listeners).toBeGreaterThanOrEqual(count)),
    end: (text) => works.get(text)?.resolve(),
    connector: () => ({
      kind: 'outside',
      session: sessionKeyOf,
      run: async (turn, io) => {
        const text = textOf(turn.message.parts);
        await io.remember({ text });
        begun.push(text);
        works.set(text, Promise.withResolvers());
        return await listen(text, io);
      },
      reattach: async (ref, _turn, io) => {
        const text = ref['text'];
        if (typeof text !== 'string' || !works.has(text)) return 'gone';
        found += 1;
        return await listen(text, io);
      },
      stop: async () => 'dead',
      close: async () => undefined,
    }),
  };
};

/** Leases that a test could not wait for: whoever takes over must not have waited for their end. */
const SETTINGS = { drainMs: 0, cancelGraceMs: 2000, leaseMs: 600_000, renewMs: 60_000 };

const stores = {
  SQLite: () => {
    const folder = freshFolder();
    onTestFinished(() => folder[Symbol.dispose]());
    return async () => `sqlite:${join(folder.path, 'tasks.db')}`;
  },
  PostgreSQL: () => {
    const place = freshSchema();
    return async () => {
      const storage = await openPostgres(place);
      onTestFinished(() => storage.close());
      return storage;
    };
  },
};

const start = async (
  place: Awaited<ReturnType<(typeof stores)['SQLite' | 'PostgreSQL']>>,
  outside: Outside,
): Promise<{ sealane: Sealane; client: A2aClient }> => {
  const sealane = await createSealane({
    store: await place(),
    agents: { main: { connector: outside.connector(), default: true } },
    adminKey: 'key',
    settings: SETTINGS,
  });
  onTestFinished(() => sealane.close());
  const url = await sealane.app.listen({ host: '127.0.0.1', port: 0 });
  return { sealane, client: createA2aClient({ url, key: 'key' }) };
};

const completed = (client: A2aClient, { id }: WireTask): Promise<WireTask> =>
  eventually(async () => {
    const task = await client.get(id);
    expect(task.status.state).toBe('TASK_STATE_COMPLETED');
    return task;
  });

describe.each(Object.keys(stores) as (keyof typeof stores)[])('a run that goes on without us, on %s', (name) => {
  it('is not ended by a stop, and the next start takes it up at once: one answer, from one run', async () => {
    const outside = openOutside();
    const place = stores[name]();
    const first = await start(place, outside);
    const task = await first.client.submit('work');
    const next = await first.client.submit('later', { contextId: task.contextId });
    await outside.heard(1);
    await first.sealane.close();
    expect(outside.killed).toEqual([]);

    const second = await start(place, outside);
    await outside.heard(2);
    expect((await second.client.get(task.id)).status.state).toBe('TASK_STATE_WORKING');
    // Its lane is its own until it ends.
    expect((await second.client.get(next.id)).status.state).toBe('TASK_STATE_SUBMITTED');
    expect(outside.begun).toEqual(['work']);
    outside.end('work');
    expect(statusTextOf(await completed(second.client, task))).toBe('work is done');
    await eventually(() => expect(outside.begun).toEqual(['work', 'later']));
    outside.end('later');
    await completed(second.client, next);
    expect(outside.found()).toBe(1);
    const events = await (await second.client.subscribe(task.id, 0)).rest();
    const ends = events.filter(({ statusUpdate }) =>
      /COMPLETED|FAILED|CANCELED/.test(statusUpdate?.status.state ?? ''),
    );
    expect(ends).toHaveLength(1);
  });

  it('can be canceled by whoever took it up', async () => {
    const outside = openOutside();
    const place = stores[name]();
    const first = await start(place, outside);
    const task = await first.client.submit('work');
    await outside.heard(1);
    await first.sealane.close();
    const second = await start(place, outside);
    await outside.heard(2);
    expect((await second.client.cancel(task.id)).status.state).toBe('TASK_STATE_CANCELED');
    expect(outside.killed).toEqual(['work']);
  });

  it('is ended by a stop all the same when its connector does not let go of it', async () => {
    const outside = openOutside({ letsGo: false });
    const place = stores[name]();
    const first = await start(place, outside);
    const task = await first.client.submit('work');
    await outside.heard(1);
    await first.sealane.close();
    expect(outside.killed).toEqual(['work']);
    const second = await start(place, outside);
    const ended = await second.client.get(task.id);
    expect(ended.status.state).toBe('TASK_STATE_FAILED');
    expect(ended.metadata).toMatchObject({ reason: 'interrupted' });
    expect(outside.found()).toBe(0);
  });
});

it('a run that goes on without us is taken up by another instance that is there already, long before the lease would end', async () => {
  const outside = openOutside();
  const place = stores.PostgreSQL();
  const first = await start(place, outside);
  const task = await first.client.submit('work');
  await outside.heard(1);
  const second = await start(place, outside);
  await first.sealane.close();
  await outside.heard(2);
  outside.end('work');
  expect(statusTextOf(await completed(second.client, task))).toBe('work is done');
  expect(outside.begun).toEqual(['work']);
  expect(outside.killed).toEqual([]);
});
