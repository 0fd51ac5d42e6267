import { setTimeout } from 'node:timers/promises';

import { openStore } from 'sealane/store';
import { expect, it, onTestFinished } from 'vitest';
import { createGateAgent, type GatedRun } from './support/gate-agent.ts';
import { createLosingStore } from './support/losing-store.ts';
import { openService } from './support/service.ts';

/** A run is at work, and its store, which does not answer it until it is `ready`, is about to let its lease go. */
const openLosing = async ({
  ignoresAbort = false,
  settings = {},
}: {
  readonly ignoresAbort?: boolean;
  readonly settings?: { readonly cancelGraceMs?: number };
}) => {
  const storage = await openStore('memory');
  onTestFinished(() => storage.close());
  const ready = Promise.withResolvers<void>();
  const { store, lose, bury } = createLosingStore(storage, ready.promise);
  const gate = createGateAgent({ ignoresAbort });
  const service = await openService({
    store,
    agents: { gate: { connector: gate.connector, recovery: 'retry' } },
    settings: { leaseMs: 600_000, renewMs: 20, pollMs: 20, retryMs: 1, ...settings },
  });
  onTestFinished(() => service.close());
  const { client } = service;
  const working = client.send('work');
  return { client, gate, working, run: await gate.startedAt(0), ready, lose, bury };
};

it('a run that loses its lease while its last words are on their way does not end its task', async () => {
  const { gate, working, run, ready, lose, bury } = await openLosing({});
  await run.io.emit({ kind: 'artifact', artifact: { artifactId: 'a', parts: [{ text: 'done' }] } });
  // The write is under way by then, and the end waits for it.
  await new Promise(setImmediate);
  run.end();
  await lose();
  ready.resolve();
  await bury();
  (await gate.startedAt(1)).end();
  expect((await working).status.state).toBe('TASK_STATE_COMPLETED');
});

it.each<readonly [what: string, wait: (run: GatedRun) => Promise<void>]>([
  ['remember something', ({ io }) => io.remember({ pid: 1 })],
  ['look back', async ({ turn }) => void (await turn.before())],
  [
    'say more',
    async ({ io }) => {
      for (;;) await io.emit({ kind: 'status', message: io.say('more') });
    },
  ],
])(
  'a run that waits to %s while its store does not answer is told that its lease is lost, and is over before another begins',
  async (_what, wait) => {
    const { gate, working, run, ready, lose, bury } = await openLosing({ ignoresAbort: true });
    const told = expect(wait(run).finally(() => run.end())).rejects.toThrow(/another instance/);
    await lose();
    await told;
    await expect(run.io.remember({ pid: 2 })).rejects.toThrow(/another instance/);
    ready.resolve();
    await bury();
    (await gate.startedAt(1)).end();
    expect((await working).status.state).toBe('TASK_STATE_COMPLETED');
    expect(gate.mostAtOnce()).toBe(1);
  },
);

it('a run that loses its lease while it is ended by force writes nothing: whoever takes over ends its task', async () => {
  const { client, working, run, ready, lose, bury } = await openLosing({
    ignoresAbort: true,
    settings: { cancelGraceMs: 20 },
  });
  await run.io.emit({ kind: 'artifact', artifact: { artifactId: 'a', parts: [{ text: 'half' }] } });
  await new Promise(setImmediate);
  await client.cancel(run.turn.taskId);
  // The time that it has to die is over by then, and its end waits for what it has said.
  await setTimeout(100);
  await lose();
  ready.resolve();
  await setTimeout(100);
  await bury();
  const task = await working;
  expect(task.status.state).toBe('TASK_STATE_CANCELED');
  expect(task.metadata?.['forced']).toBe(undefined);
  run.end();
});
