import { onTestFinished, describe, expect, it } from 'vitest';

import type { Storage, TaskStore } from '#store';
import { openPostgres } from '#store/postgres/index';

import { eventually } from '../support/eventually.ts';
import { freshSchema } from '../support/fresh-schema.ts';
import { createGateAgent } from '../support/gate-agent.ts';
import { openService } from '../support/service.ts';
import { withBarriers } from './barrier-store.ts';
import { startPartitionProxy } from './partition-proxy.ts';

/** A lease and polls so long that nothing but the call in question talks to the database. */
const QUIET = { leaseMs: 120_000, renewMs: 40_000, pollMs: 60_000, janitorMs: 600_000 };

/** A service whose next call of a kind is committed by PostgreSQL while the line breaks before the answer. */
const openWithBadLine = async () => {
  const place = freshSchema();
  const proxy = await startPartitionProxy(place.url);
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  const storage: Storage = await openPostgres({ ...place, url: proxy.url });
  let doomed: keyof TaskStore | undefined;
  const arm = (name: keyof TaskStore): void => {
    if (doomed !== name) return;
    doomed = undefined;
    proxy.loseNextCommit();
  };
  const gate = createGateAgent();
  const service = await openService({
    agents: { gate: { connector: gate.connector } },
    settings: QUIET,
    store: withBarriers(storage, (tasks) => ({
      admit: (...args) => (arm('admit'), tasks.admit(...args)),
      claim: (...args) => (arm('claim'), tasks.claim(...args)),
      append: (...args) => (arm('append'), tasks.append(...args)),
      finish: (...args) => (arm('finish'), tasks.finish(...args)),
    })),
  });
  onTestFinished(async () => {
    await service.close();
    await storage.close();
  });
  return {
    gate,
    client: service.client,
    storage,
    /** The next such call loses its answer. */
    loseAnswerOf: (name: 'admit' | 'claim' | 'append' | 'finish') => (doomed = name),
    cuts: () => proxy.commitsLost,
  };
};

describe('when PostgreSQL has committed and the line breaks before it can say so', () => {
  it('a claimed turn runs all the same', async () => {
    const { gate, client, loseAnswerOf, cuts } = await openWithBadLine();
    await client.submit('a', { contextId: 'x' });
    const second = await client.submit('b', { contextId: 'x' });
    loseAnswerOf('claim');
    (await gate.started('a')).end();
    (await gate.started('b')).end();
    await eventually(async () => expect((await client.get(second.id)).status.state).toBe('TASK_STATE_COMPLETED'));
    expect(cuts()).toBe(1);
  }, 15_000);

  it('an admitted turn runs all the same', async () => {
    const { gate, client, loseAnswerOf, cuts } = await openWithBadLine();
    loseAnswerOf('admit');
    // The caller may be told that nobody knows; what is stored must run nevertheless.
    await client.submit('a', { contextId: 'x' }).catch(() => undefined);
    (await gate.started('a')).end();
    await client.submit('b', { contextId: 'x' });
    (await gate.started('b')).end();
    expect(cuts()).toBe(1);
  }, 15_000);

  it('an event is not written twice', async () => {
    const { gate, client, storage, loseAnswerOf, cuts } = await openWithBadLine();
    const task = await client.submit('a');
    const run = await gate.started('a');
    loseAnswerOf('append');
    await run.io.emit({ kind: 'artifact', artifact: { artifactId: 'answer', parts: [{ text: 'once' }] } });
    await eventually(() => expect(cuts()).toBe(1));
    await run.io.emit({ kind: 'artifact', artifact: { artifactId: 'answer', parts: [{ text: 'then' }] }, append: true });
    run.end();
    await eventually(async () => expect((await client.get(task.id)).status.state).toBe('TASK_STATE_COMPLETED'));
    const events = await storage.tasks.read('all', task.id, 0, 100);
    expect(events.map(({ event }) => event.kind)).toEqual(['task-admitted', 'run-started', 'artifact-added', 'artifact-added', 'turn-ended']);
  }, 15_000);

  it('a lane goes on once, not twice', async () => {
    const { gate, client, loseAnswerOf, cuts } = await openWithBadLine();
    await client.submit('a', { contextId: 'x' });
    await client.submit('b', { contextId: 'x' });
    const third = await client.submit('c', { contextId: 'x' });
    loseAnswerOf('finish');
    (await gate.started('a')).end();
    const second = await gate.started('b');
    await eventually(() => expect(cuts()).toBe(1));
    // Whatever the service does about the end that it heard nothing of, it has done it when this has run.
    await client.submit('elsewhere', { contextId: 'y' });
    await gate.started('elsewhere');
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(gate.begun).toEqual(['a', 'b', 'elsewhere']);
    expect((await client.get(third.id)).status.state).toBe('TASK_STATE_SUBMITTED');
    second.end();
    (await gate.started('c')).end();
  }, 15_000);
});
