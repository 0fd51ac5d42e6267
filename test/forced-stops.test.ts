import type { AgentConnector } from 'sealane';
import { openStore, type Storage, type TaskStore } from 'sealane/store';
import { describe, expect, it, onTestFinished } from 'vitest';

import { withTasks } from './support/changed-tasks.ts';
import { eventually } from './support/eventually.ts';
import { createGateAgent, type GatedRun } from './support/gate-agent.ts';
import { createLosingStore } from './support/losing-store.ts';
import { openService } from './support/service.ts';

const SETTINGS = { cancelGraceMs: 50, quarantineMs: 300 };

/** A service whose agent ignores every abort, with one slot, and a run at work in it. */
const openDeaf = async (options: { readonly store?: Storage; readonly settings?: object } = {}) => {
  const gate = createGateAgent({ ignoresAbort: true });
  const closed = Promise.withResolvers<void>();
  const connector: AgentConnector = { ...gate.connector, close: async () => closed.resolve() };
  const service = await openService({
    ...(options.store && { store: options.store }),
    agents: { gate: { connector, concurrency: 1 } },
    settings: { ...SETTINGS, ...options.settings },
  });
  onTestFinished(() => service.close());
  const { client, admin, url, sealane } = service;
  const task = await client.submit('stubborn', { contextId: 'x' });
  const run = await gate.started('stubborn');
  onTestFinished(() => run.end());
  const running = async (): Promise<number | undefined> => {
    const { agents } = await admin.get<{ agents: { name: string; running: number }[] }>('/info');
    return agents.find(({ name }) => name === 'gate')?.running;
  };
  /** What the metrics say about the runs that are over, and about those that are not. */
  const metrics = async (): Promise<readonly string[]> => {
    const text = await (await fetch(`${url}/metrics`)).text();
    return text.split('\n').filter((line) => /^sealane_(runs|run_seconds_count)\{/.test(line));
  };
  /** Resolves when all that wait for the end of the run have been told, and checks that they were told once. */
  const expectOver = async (state: string): Promise<void> => {
    await eventually(async () => expect(await running()).toBe(0));
    const told = [`sealane_run_seconds_count{agent="gate",state="${state}"} 1`, 'sealane_runs{agent="gate"} 0'];
    expect((await metrics()).toSorted()).toEqual(told);
    // The connector is closed when the runs of its entry are over.
    sealane.replaceAgents({ other: createGateAgent().connector });
    await closed.promise;
    // Whatever the agent still does is no news.
    run.end();
    await new Promise(setImmediate);
    expect((await metrics()).toSorted()).toEqual(told);
  };
  return { ...service, gate, task, run, running, expectOver };
};

/** The store of one process, with other answers to some calls. */
const openStoreWith = async (change: (tasks: TaskStore) => Partial<TaskStore>): Promise<Storage> => {
  const storage = await openStore('memory');
  onTestFinished(() => storage.close());
  return withTasks(storage, change);
};

const openLosing = async () => {
  const storage = await openStore('memory');
  onTestFinished(() => storage.close());
  const ready = Promise.withResolvers<void>();
  return { ...createLosingStore(storage, ready.promise), ready };
};
const LEASE = { leaseMs: 600_000, renewMs: 20, pollMs: 20 };

const say = (run: GatedRun): Promise<void> =>
  run.io.emit({ kind: 'artifact', artifact: { artifactId: 'a', parts: [{ text: 'half' }] } });

describe('a run that ignores its abort gives its slot back after the quarantine, and no sooner,', () => {
  it('when it was canceled', async () => {
    const { client, task, running, expectOver } = await openDeaf();
    await client.cancel(task.id);
    expect(await running()).toBe(1);
    await expectOver('failed');
  });

  it('when it has lost its lease', async () => {
    const { store, lose } = await openLosing();
    const { running, expectOver } = await openDeaf({ store, settings: LEASE });
    await lose();
    expect(await running()).toBe(1);
    await expectOver('lost');
  });

  it('when it loses its lease while its task is ended by force', async () => {
    const { store, lose, ready } = await openLosing();
    const { client, task, run, expectOver } = await openDeaf({ store, settings: { ...LEASE, quarantineMs: 1000 } });
    await say(run);
    await new Promise(setImmediate);
    // The end by force waits for these words, and the store does not take them.
    void client.cancel(task.id).catch(() => undefined);
    await eventually(() => expect(run.io.signal.aborted).toBe(true));
    await lose();
    ready.resolve();
    await expectOver('lost');
  });

  it.each<readonly [what: string, finish: () => Promise<never>]>([
    ['fails', () => Promise.reject(new Error('no'))],
    ['is never answered', () => new Promise(() => undefined)],
  ])('when the write of its forced end %s', async (_what, finish) => {
    const { client, task, run, expectOver } = await openDeaf({ store: await openStoreWith(() => ({ finish })) });
    void client.cancel(task.id).catch(() => undefined);
    await eventually(() => expect(run.io.signal.aborted).toBe(true));
    await expectOver('lost');
  });

  it('when its task was ended from outside', async () => {
    const store = await openStoreWith(() => ({}));
    const { task, run, expectOver } = await openDeaf({ store, settings: { pollMs: 20 } });
    // As the janitor of any instance does it with a task that was claimed in the same moment.
    const end = { kind: 'turn-ended', state: 'failed', reason: 'queue-timeout' } as const;
    expect(await store.tasks.force(task.id, ['working'], end, Date.now())).toMatchObject({ ok: true });
    await eventually(() => expect(run.io.signal.reason).toBe('ended'));
    await expectOver('failed');
  });
});

it('a stop of the service does not wait for a run whose quarantine is over', async () => {
  const { store, lose } = await openLosing();
  const service = await openDeaf({ store, settings: { ...LEASE, drainMs: 600_000 } });
  await lose();
  await eventually(async () => expect(await service.running()).toBe(0));
  await service.close();
});
