import type { AgentConnector } from 'sealane';
import { openStore } from 'sealane/store';
import { describe, expect, it, onTestFinished } from 'vitest';

import { eventually } from './support/eventually.ts';
import { createGateAgent, type GatedRun } from './support/gate-agent.ts';
import { openService } from './support/service.ts';

interface Kind {
  readonly ignoresAbort?: boolean;
  /** The agent says that its work goes on, and the next service does not find it. */
  readonly letsGo?: boolean;
}

/** A task whose service is started again and again. An agent has three attempts. */
const openRestarts = async (options: Kind) => {
  const storage = await openStore('memory');
  onTestFinished(() => storage.close());
  const gate = createGateAgent(options);
  const connector: AgentConnector = {
    ...gate.connector,
    run: async (turn, io) => {
      await io.remember({ run: io.attempt });
      const end = await gate.connector.run(turn, io);
      return options.letsGo && io.signal.reason === 'shutdown' ? { ...end, goesOn: true } : end;
    },
    ...(options.letsGo && { reattach: async () => 'gone' }),
  };
  const start = async () => {
    const service = await openService({
      store: storage,
      agents: { gate: { connector, recovery: 'retry' } },
      settings: { cancelGraceMs: 50, retryMs: 1, pollMs: 20 },
    });
    onTestFinished(() => service.close());
    return service;
  };
  let service = await start();
  const { id } = await service.client.submit('work');
  let begun = 0;
  /** The run that began next. */
  const nextRun = async (): Promise<GatedRun> => {
    const run = await gate.startedAt(begun);
    begun += 1;
    onTestFinished(() => run.end());
    return run;
  };
  return {
    nextRun,
    restart: async () => {
      await service.close();
      service = await start();
    },
    stateOf: async () => (await storage.tasks.find('all', id))?.state,
  };
};

describe.each<Kind & { readonly what: string }>([
  { what: 'put back by the service that stops' },
  { what: 'left to the next service', ignoresAbort: true },
  { what: 'let go and not found again', letsGo: true },
])('a planned restart, at which a run is $what,', ({ what: _what, ...kind }) => {
  it('uses up no attempt, and the number of the attempt goes on', async () => {
    const { nextRun, restart, stateOf } = await openRestarts(kind);
    for (const attempt of [1, 2, 3, 4]) {
      expect((await nextRun()).io.attempt).toBe(attempt);
      await restart();
    }
    const last = await nextRun();
    expect(last.io.attempt).toBe(5);
    expect(last.turn.runId).toMatch(/\.1\.5$/);
    last.end();
    await eventually(async () => expect(await stateOf()).toBe('completed'));
  });

  it('gives no attempt to an agent that fails', async () => {
    const { nextRun, restart, stateOf } = await openRestarts(kind);
    const failing = async (attempt: number): Promise<void> => {
      const run = await nextRun();
      expect(run.io.attempt).toBe(attempt);
      run.end({ state: 'failed', retryable: true });
    };
    await failing(1);
    expect((await nextRun()).io.attempt).toBe(2);
    await restart();
    await failing(3);
    await failing(4);
    await eventually(async () => expect(await stateOf()).toBe('failed'));
  });
});
