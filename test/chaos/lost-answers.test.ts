import { setTimeout as delay } from 'node:timers/promises';

import { describe, expect, it } from 'vitest';

import { openPostgres } from '#store/postgres/index';

import { eventually } from '../support/eventually.ts';
import { freshSchema } from '../support/fresh-schema.ts';
import { createGateAgent } from '../support/gate-agent.ts';
import { openService } from '../support/service.ts';
import { startPartitionProxy } from './partition-proxy.ts';

/** A lease and polls so long that nothing but the call in question talks to the database. */
const QUIET = { leaseMs: 240_000, renewMs: 80_000, pollMs: 60_000, janitorMs: 600_000, retryMs: 10 };

/** A service whose line to PostgreSQL breaks where a test wants it to. */
const openWithBadLine = async () => {
  await using opening = new AsyncDisposableStack();
  const place = freshSchema();
  const proxy = opening.use(await startPartitionProxy(place.url));
  const storage = opening.use(await openPostgres({ ...place, url: proxy.url }));
  const gate = createGateAgent();
  const agents = { gate: { connector: gate.connector, recovery: 'retry' as const } };
  const { client } = opening.use(await openService({ agents, settings: QUIET, store: storage }));
  const opened = opening.move();
  return {
    proxy,
    gate,
    client,
    storage,
    /** A second service on a good line, quick to take what is free. */
    openQuickSecond: async (): Promise<void> => {
      const beside = opened.use(await openPostgres(place));
      opened.use(await openService({ agents, settings: { ...QUIET, pollMs: 10 }, store: beside }));
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
};

describe('when PostgreSQL has committed and the line breaks before it can say so', () => {
  it.concurrent('a claimed turn runs all the same', { timeout: 60_000 }, async ({ expect }) => {
    await using bad = await openWithBadLine();
    const { proxy, gate, client } = bad;
    await client.submit('a', { contextId: 'x' });
    const second = await client.submit('b', { contextId: 'x' });
    proxy.loseCommitOf('"kind":"run-started"');
    (await gate.started('a')).end();
    (await gate.started('b')).end();
    await eventually(async () => expect((await client.get(second.id)).status.state).toBe('TASK_STATE_COMPLETED'));
    expect(proxy.commitsLost).toBe(1);
  });

  it.concurrent('an admitted turn runs all the same', { timeout: 60_000 }, async ({ expect }) => {
    await using bad = await openWithBadLine();
    const { proxy, gate, client } = bad;
    proxy.loseCommitOf('"kind":"task-admitted"');
    // The caller may be told that nobody knows; what is stored must run nevertheless.
    await client.submit('a', { contextId: 'x' }).catch(() => undefined);
    (await gate.started('a')).end();
    await client.submit('b', { contextId: 'x' });
    (await gate.started('b')).end();
    expect(proxy.commitsLost).toBe(1);
  });

  it('an event is not written twice', async () => {
    await using bad = await openWithBadLine();
    const { proxy, gate, client, storage } = bad;
    const task = await client.submit('a');
    const run = await gate.started('a');
    proxy.loseCommitOf('"text":"once"');
    await run.io.emit({ kind: 'artifact', artifact: { artifactId: 'answer', parts: [{ text: 'once' }] } });
    await eventually(() => expect(proxy.commitsLost).toBe(1));
    await run.io.emit({
      kind: 'artifact',
      artifact: { artifactId: 'answer', parts: [{ text: 'then' }] },
      append: true,
    });
    run.end();
    await eventually(async () => expect((await client.get(task.id)).status.state).toBe('TASK_STATE_COMPLETED'));
    const events = await storage.tasks.read('all', task.id, 0, 100);
    const said = events.flatMap(({ event }) =>
      event.kind === 'artifact-added' ? [event.artifact.parts[0]?.text] : [],
    );
    expect(said).toEqual(['once', 'then']);
  });

  it('a lane goes on once, not twice', async () => {
    await using bad = await openWithBadLine();
    const { proxy, gate, client } = bad;
    await client.submit('a', { contextId: 'x' });
    await client.submit('b', { contextId: 'x' });
    const third = await client.submit('c', { contextId: 'x' });
    await bad.openQuickSecond();
    proxy.loseCommitOf('"kind":"turn-ended"');
    (await gate.started('a')).end();
    const second = await gate.started('b');
    await eventually(() => expect(proxy.commitsLost).toBe(1));
    // The end that it heard nothing of is looked after at once; nothing announces that it was.
    await delay(1000);
    expect(gate.begun).toEqual(['a', 'b']);
    expect((await client.get(third.id)).status.state).toBe('TASK_STATE_SUBMITTED');
    second.end();
    (await gate.started('c')).end();
  });
});
