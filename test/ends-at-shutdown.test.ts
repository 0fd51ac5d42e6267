import type { AgentOptions, RunEvent, TurnEnd } from 'sealane';
import { createExecutorAgent } from 'sealane/executor';
import { openStore } from 'sealane/store';
import { describe, expect, it, onTestFinished } from 'vitest';

import { statusTextOf, type WireTask } from './support/a2a-client.ts';
import { eventually } from './support/eventually.ts';
import { createGateAgent, type GatedRun } from './support/gate-agent.ts';
import { openService } from './support/service.ts';

type Recovery = NonNullable<AgentOptions['recovery']>;

/** A service whose agent ignores aborts, with a run at work, on a store that goes on without it. */
const openAtWork = async (options: Partial<AgentOptions> = {}) => {
  const storage = await openStore('memory');
  onTestFinished(() => storage.close());
  const gate = createGateAgent({ ignoresAbort: true });
  const agents = { gate: { connector: gate.connector, ...options } };
  const settings = { cancelGraceMs: 5000, retryMs: 1 };
  const start = async () => {
    const service = await openService({ store: storage, agents, settings });
    onTestFinished(() => service.close());
    return service;
  };
  const first = await start();
  const task = await first.client.submit('work');
  const run = await gate.started('work');
  /** The task as the next service finds it. */
  const afterwards = async (): Promise<WireTask> => (await start()).client.get(task.id);
  return { first, task, gate, run, start, afterwards };
};

const whenAborted = ({ io }: GatedRun): Promise<void> =>
  new Promise((resolve) => io.signal.addEventListener('abort', () => resolve(), { once: true }));

const RECOVERIES: readonly Recovery[] = ['fail', 'retry'];
const ENDS: readonly (readonly [end: TurnEnd, state: string])[] = [
  [{ state: 'completed' }, 'TASK_STATE_COMPLETED'],
  [{ state: 'failed', reason: 'out-of-paper' }, 'TASK_STATE_FAILED'],
  [{ state: 'rejected', reason: 'out-of-paper' }, 'TASK_STATE_REJECTED'],
  [{ state: 'input-required' }, 'TASK_STATE_INPUT_REQUIRED'],
  [{ state: 'auth-required' }, 'TASK_STATE_AUTH_REQUIRED'],
];

describe.each(RECOVERIES)('an agent with recovery: %s that is aborted by a stop of the service', (recovery) => {
  it.each(ENDS)('has its own end stored when that is %o', async (end, state) => {
    const { first, gate, run, afterwards } = await openAtWork({ recovery });
    const aborted = whenAborted(run);
    const closing = first.close();
    await aborted;
    await run.io.emit({ kind: 'artifact', artifact: { artifactId: 'a', parts: [{ text: 'the last words' }] } });
    run.end({ ...end, message: run.io.say('as I said') });
    await closing;
    const task = await afterwards();
    expect(task.status.state).toBe(state);
    expect(statusTextOf(task)).toBe('as I said');
    expect(task.artifacts?.[0]?.parts).toEqual([{ text: 'the last words' }]);
    if (end.reason !== undefined) expect(task.metadata).toMatchObject({ reason: end.reason });
    expect(gate.begun).toEqual(['work']);
  });
});

/** What agents do because they were aborted. */
const CONSEQUENCES: readonly (readonly [what: string, end: (run: GatedRun) => void])[] = [
  ['answers canceled', (run) => run.end({ state: 'canceled' })],
  ['answers canceled and says why', (run) => run.end({ state: 'canceled', reason: 'stopped' })],
  ['throws', (run) => run.end(Promise.reject(new Error('aborted')) as unknown as TurnEnd)],
];

describe.each(CONSEQUENCES)('an agent that %s when it is aborted by a stop of the service', (_what, end) => {
  it('has been interrupted', async () => {
    const { first, run, afterwards } = await openAtWork();
    const aborted = whenAborted(run);
    const closing = first.close();
    await aborted;
    end(run);
    await closing;
    const task = await afterwards();
    expect(task.status.state).toBe('TASK_STATE_FAILED');
    expect(task.metadata).toMatchObject({ reason: 'interrupted' });
  });

  it('is tried again by the next service with recovery: retry', async () => {
    const { first, task, run, gate, start } = await openAtWork({ recovery: 'retry' });
    const aborted = whenAborted(run);
    const closing = first.close();
    await aborted;
    end(run);
    await closing;
    const { client } = await start();
    const again = await gate.startedAt(1);
    expect(again.io.attempt).toBe(2);
    again.end();
    await eventually(async () => expect((await client.get(task.id)).status.state).toBe('TASK_STATE_COMPLETED'));
  });
});

it('an agent that says that another attempt could succeed is tried again after a stop of the service', async () => {
  const { first, run, gate, start } = await openAtWork({ recovery: 'retry' });
  const aborted = whenAborted(run);
  const closing = first.close();
  await aborted;
  run.end({ state: 'failed', retryable: true });
  await closing;
  await start();
  const again = await gate.startedAt(1);
  expect(again.io.attempt).toBe(2);
  again.end();
});

describe('an end of its own that an agent gives during a stop of the service', () => {
  it('does not win over a cancel', async () => {
    const { first, task, run, afterwards } = await openAtWork();
    const aborted = whenAborted(run);
    const closing = first.close();
    await aborted;
    const canceling = first.sealane.tasks.cancel(first.caller, task.id);
    await eventually(async () =>
      expect((await first.sealane.storage.tasks.read('all', task.id, 0, 9)).map(({ event }) => event.kind)).toContain(
        'cancel-requested',
      ),
    );
    run.end();
    expect((await canceling).state).toBe('canceled');
    await closing;
    expect((await afterwards()).status.state).toBe('TASK_STATE_CANCELED');
  });

  it('does not win over a timeout that came first', async () => {
    const { first, run, afterwards } = await openAtWork({ taskTimeoutMs: 100 });
    await whenAborted(run);
    expect(run.io.signal.reason).toBe('timeout');
    const closing = first.close();
    run.end();
    await closing;
    expect((await afterwards()).metadata).toMatchObject({ reason: 'timeout' });
  });

  it.each<readonly [reason: string, said: RunEvent]>([
    ['too-large', { kind: 'artifact', artifact: { artifactId: 'a', parts: [{ text: 'x'.repeat(2 ** 21) }] } }],
    ['unwritable', { kind: 'artifact', artifact: { artifactId: 'a', parts: [{ data: 1n as never }] } }],
  ])('is a failure when what it said before is %s', async (reason, said) => {
    const { first, run, afterwards } = await openAtWork({ recovery: 'retry' });
    const aborted = whenAborted(run);
    const closing = first.close();
    await aborted;
    await run.io.emit(said).catch(() => undefined);
    run.end();
    await closing;
    const task = await afterwards();
    expect(task.status.state).toBe('TASK_STATE_FAILED');
    expect(task.metadata).toMatchObject({ reason });
  });
});

it('an executor that ends without a word when it is told to cancel has been interrupted', async () => {
  const canceled = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const connector = createExecutorAgent({
    execute: async () => {
      begun.resolve();
      await canceled.promise;
    },
    cancelTask: async () => canceled.resolve(),
  });
  const storage = await openStore('memory');
  onTestFinished(() => storage.close());
  const service = await openService({ store: storage, agents: { executor: connector } });
  const { id } = await service.client.submit('work');
  await begun.promise;
  await service.close();
  const task = await storage.tasks.find('all', id);
  expect(task).toMatchObject({ state: 'failed', metadata: expect.stringContaining('interrupted') });
});
