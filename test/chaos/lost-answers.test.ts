import { setTimeout as delay } from 'node:timers/promises';

import { describe, expect, it, onTestFinished } from 'vitest';

import { openPostgres } from '#store/postgres/index';

import { eventually } from '../support/eventually.ts';
import { freshSchema } from '../support/fresh-schema.ts';
import { createGateAgent } from '../support/gate-agent.ts';
import { openService } from '../support/service.ts';
import { startPartitionProxy } from './partition-proxy.ts';

/** A lease and polls so long that nothing but the call in question talks to the database. */
const QUIET = { leaseMs: 120_000, renewMs: 40_000, pollMs: 60_000, janitorMs: 600_000 };

/** A service whose line to PostgreSQL breaks where a test wants it to. */
const openWithBadLine = async () => {
  const place = freshSchema();
  const proxy = await startPartitionProxy(place.url);
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  const storage = await openPostgres({ ...place, url: proxy.url });
  onTestFinished(() => storage.close());
  const gate = createGateAgent();
  const service = await openService({ agents: { gate: { connector: gate.connector } }, settings: QUIET, store: storage });
  onTestFinished(() => service.close());
  /** A second service on a good line, quick to take what is free. */
  const openQuickSecond = async (): Promise<void> => {
    const beside = await openPostgres(place);
    onTestFinished(() => beside.close());
    const settings = { ...QUIET, pollMs: 10 };
    const second = await openService({ agents: { gate: { connector: gate.connector } }, settings, store: beside });
    onTestFinished(() => second.close());
  };
  return { proxy, gate, client: service.client, storage, openQuickSecond };
};

describe('when PostgreSQL has committed and the line breaks before it can say so', () => {
  it('a claimed turn runs all the same', async () => {
    const { proxy, gate, client } = await openWithBadLine();
    await client.submit('a', { contextId: 'x' });
    const second = await client.submit('b', { contextId: 'x' });
    proxy.loseCommitOf('"kind":"run-started"');
    (await gate.started('a')).end();
    (await gate.started('b')).end();
    await eventually(async () => expect((await client.get(second.id)).status.state).toBe('TASK_STATE_COMPLETED'));
    expect(proxy.commitsLost).toBe(1);
  }, 15_000);

  it('an admitted turn runs all the same', async () => {
    const { proxy, gate, client } = await openWithBadLine();
    proxy.loseCommitOf('"kind":"task-admitted"');
    // The caller may be told that nobody knows; what is stored must run nevertheless.
    await client.submit('a', { contextId: 'x' }).catch(() => undefined);
    (await gate.started('a')).end();
    await client.submit('b', { contextId: 'x' });
    (await gate.started('b')).end();
    expect(proxy.commitsLost).toBe(1);
  }, 15_000);

  it('an event is not written twice', async () => {
    const { proxy, gate, client, storage } = await openWithBadLine();
    const task = await client.submit('a');
    const run = await gate.started('a');
    proxy.loseCommitOf('"text":"once"');
    await run.io.emit({ kind: 'artifact', artifact: { artifactId: 'answer', parts: [{ text: 'once' }] } });
    await eventually(() => expect(proxy.commitsLost).toBe(1));
    await run.io.emit({ kind: 'artifact', artifact: { artifactId: 'answer', parts: [{ text: 'then' }] }, append: true });
    run.end();
    await eventually(async () => expect((await client.get(task.id)).status.state).toBe('TASK_STATE_COMPLETED'));
    const events = await storage.tasks.read('all', task.id, 0, 100);
    expect(events.map(({ event }) => event.kind)).toEqual(['task-admitted', 'run-started', 'artifact-added', 'artifact-added', 'turn-ended']);
  }, 15_000);

  it('a lane goes on once, not twice', async () => {
    const { proxy, gate, client, openQuickSecond } = await openWithBadLine();
    await client.submit('a', { contextId: 'x' });
    await client.submit('b', { contextId: 'x' });
    const third = await client.submit('c', { contextId: 'x' });
    await openQuickSecond();
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
  }, 15_000);
});
