import { setTimeout } from 'node:timers/promises';

import type { AgentConnector, AgentOptions } from 'sealane';
import { openStore, type TaskStore } from 'sealane/store';
import { describe, expect, it, onTestFinished } from 'vitest';

import { withTasks } from './support/changed-tasks.ts';
import { eventually } from './support/eventually.ts';
import { createGateAgent } from './support/gate-agent.ts';
import { openService, type TestService } from './support/service.ts';

type Fate = Awaited<ReturnType<AgentConnector['stop']>>;

/** One store, and services on it that follow each other. Their agent ignores every abort. */
const openStage = async (options: Partial<AgentOptions> = {}) => {
  const storage = await openStore('memory');
  onTestFinished(() => storage.close());
  const gate = createGateAgent({ ignoresAbort: true });
  /** What the services have been told about runs of others. */
  const stops: Fate[] = [];
  let fate: Fate | Promise<Fate> = 'unknown';
  const connector: AgentConnector = {
    ...gate.connector,
    run: async (turn, io) => {
      await io.remember({ run: 1 });
      return await gate.connector.run(turn, io);
    },
    stop: async () => {
      const told = await fate;
      stops.push(told);
      return told;
    },
  };
  const start = async (settings: object = {}, change: (tasks: TaskStore) => Partial<TaskStore> = () => ({})) => {
    const service = await openService({
      store: withTasks(storage, change),
      agents: { gate: { connector, ...options } },
      settings: { cancelGraceMs: 50, quarantineMs: 600_000, retryMs: 1, ...settings },
    });
    onTestFinished(() => service.close());
    return service;
  };
  return {
    storage,
    gate,
    stops,
    start,
    setFate: (next: Fate | Promise<Fate>) => {
      fate = next;
    },
    stateOf: async (id: string) => (await storage.tasks.find('all', id))?.state,
    /** The task that holds the lane. There is only one lane. */
    holder: async () => (await storage.lanes.list({ limit: 9 }))[0]?.running,
  };
};

/** A first service with a run at work, and a task that waits behind it in the lane. */
const openAtWork = async (options?: Partial<AgentOptions>, settings?: object) => {
  const stage = await openStage(options);
  const first = await stage.start(settings);
  const task = await first.client.submit('work', { contextId: 'x' });
  const next = await first.client.submit('next', { contextId: 'x' });
  const run = await stage.gate.started('work');
  onTestFinished(() => run.end());
  return { ...stage, first, task, next, run };
};

describe('a lane in quarantine', () => {
  it('stays held when the service that waits for the run stops, also when the quarantine would be over', async () => {
    const { first, task, gate, holder } = await openAtWork({}, { quarantineMs: 2000 });
    await first.client.cancel(task.id);
    await first.close();
    expect(await holder()).toBe(task.id);
    await setTimeout(2000);
    expect(await holder()).toBe(task.id);
    expect(gate.begun).toEqual(['work']);
  });

  it('stays held when a service stops that has taken over the run: the next one decides again', async () => {
    const { first, task, gate, holder, start, stops, setFate } = await openAtWork();
    await first.client.cancel(task.id);
    await first.close();
    const second = await start();
    await eventually(() => expect(stops).toEqual(['unknown']));
    await second.close();
    expect(await holder()).toBe(task.id);
    expect(gate.begun).toEqual(['work']);

    setFate('dead');
    await start();
    (await gate.started('next')).end();
    expect(stops).toEqual(['unknown', 'dead']);
  });
});

it.each<Fate>(['dead', 'unknown'])(
  'a lane stays held when a service stops before its agent answers that the run is %s',
  async (answer) => {
    const { first, task, gate, holder, start, stops, setFate } = await openAtWork();
    await first.client.cancel(task.id);
    await first.close();
    const fate = Promise.withResolvers<Fate>();
    setFate(fate.promise);
    const second = await start();
    await second.close();
    fate.resolve(answer);
    await eventually(() => expect(stops).toEqual([answer]));
    await setTimeout(100);
    expect(await holder()).toBe(task.id);
    setFate('dead');
    await start();
    (await gate.started('next')).end();
  },
);

describe('a run that can be tried again and does not die when the service stops', () => {
  it('is left to the next service, which tries it again when it knows that the run is dead', async () => {
    const { first, task, gate, holder, start, stops, stateOf, setFate } = await openAtWork({ recovery: 'retry' });
    await first.close();
    expect([await stateOf(task.id), await holder()]).toEqual(['working', task.id]);
    setFate('dead');
    const { client } = await start();
    const again = await gate.startedAt(1);
    expect(stops).toEqual(['dead']);
    expect([again.turn.taskId, again.io.attempt]).toEqual([task.id, 2]);
    again.end();
    await eventually(async () => expect((await client.get(task.id)).status.state).toBe('TASK_STATE_COMPLETED'));
    (await gate.started('next')).end();
  });

  it('is tried again after the quarantine when nobody knows whether the run is dead', async () => {
    const { first, task, gate, storage, start, stops } = await openAtWork({ recovery: 'retry' });
    await first.close();
    await start({ quarantineMs: 500, pollMs: 20 });
    (await gate.startedAt(1)).end();
    expect(stops).toEqual(['unknown']);
    const log = await storage.tasks.read('all', task.id, 0, 99);
    const at = (kind: string): number => Date.parse(log.findLast(({ event }) => event.kind === kind)?.at ?? '');
    expect(at('run-started') - at('run-lost')).toBeGreaterThanOrEqual(490);
    (await gate.started('next')).end();
  });

  it('is taken over by another service at once, and nothing more of it is heard', async () => {
    const stage = await openStage({ recovery: 'retry' });
    stage.setFate('dead');
    const settings = { leaseMs: 600_000, renewMs: 600_000, pollMs: 20 };
    const shared = () => ({ exclusive: false });
    const first = await stage.start(settings, shared);
    const task = await first.client.submit('work');
    const run = await stage.gate.started('work');
    const second = await stage.start(settings, shared);
    await first.close();
    const again = await stage.gate.startedAt(1);
    expect(again.io.attempt).toBe(2);

    await expect(run.io.remember({ run: 2 })).rejects.toThrow();
    await expect(run.io.emit({ kind: 'status', message: run.io.say('late') })).rejects.toThrow();
    run.end({ state: 'failed', message: run.io.say('late') });
    await new Promise(setImmediate);
    expect((await second.client.get(task.id)).status.state).toBe('TASK_STATE_WORKING');
    again.end();
    await eventually(async () => expect((await second.client.get(task.id)).status.state).toBe('TASK_STATE_COMPLETED'));
  });
});

it('a run that does not die when the service stops, and cannot be tried again, ends by force', async () => {
  const { first, task, holder, storage } = await openAtWork();
  await first.close();
  const ended = await storage.tasks.find('all', task.id);
  expect(ended).toMatchObject({ state: 'failed' });
  expect(JSON.parse(ended?.metadata ?? '')).toMatchObject({ reason: 'interrupted', forced: true });
  expect(await holder()).toBe(task.id);
});

describe('a stop takes no longer than its runs and its store are given', () => {
  const closingMs = async (service: TestService): Promise<number> => {
    const beganAt = performance.now();
    await service.close();
    return performance.now() - beganAt;
  };

  it.each<AgentOptions['recovery']>(['fail', 'retry'])(
    'with recovery: %s and a run that does not die',
    async (recovery) => {
      const { first } = await openAtWork({ recovery: recovery ?? 'fail' }, { drainMs: 200, cancelGraceMs: 300 });
      // One second more is for the end of the run to be written.
      expect(await closingMs(first)).toBeLessThan(200 + 300 + 1000 + 1500);
    },
  );

  it('with a run whose quarantine it waits for', async () => {
    const { first, task, start, stops } = await openAtWork();
    await first.client.cancel(task.id);
    await first.close();
    const second = await start();
    await eventually(() => expect(stops).toEqual(['unknown']));
    expect(await closingMs(second)).toBeLessThan(1500);
  });

  it('with a store that no longer answers', async () => {
    const { start, gate } = await openStage({ recovery: 'retry' });
    let isSilent = false;
    const never = () => new Promise<never>(() => undefined);
    const service = await start({ leaseMs: 1000, pollMs: 20 }, (tasks) =>
      Object.fromEntries(
        Object.entries(tasks).map(([name, call]) => [
          name,
          typeof call === 'function' && name !== 'onWake'
            ? (...args: never[]) => (isSilent ? never() : (call as (...words: never[]) => unknown)(...args))
            : call,
        ]),
      ),
    );
    await service.client.submit('work');
    const run = await gate.started('work');
    isSilent = true;
    void run.io.emit({ kind: 'status', message: run.io.say('hello') }).catch(() => undefined);
    // A second for calls in flight, the grace period with its second for ends, and a second for the lease.
    expect(await closingMs(service)).toBeLessThan(1000 + 1050 + 1000 + 1500);
    run.end();
  });
});
