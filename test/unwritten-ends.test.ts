import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { type AgentConnector, sessionKeyOf, textOf } from 'sealane';
import { openStore } from 'sealane/store';
import { expect, it } from 'vitest';

import { eventually } from './support/eventually.ts';
import { freshFolder } from './support/served-process.ts';
import { openService } from './support/service.ts';

/** Answers, unless it is told to wait for its abort; says how often it was asked. */
const createAgent = (): AgentConnector & { asked: number } => {
  const agent = {
    kind: 'test',
    asked: 0,
    session: sessionKeyOf,
    run: async (...[turn, io]: Parameters<AgentConnector['run']>) => {
      agent.asked += 1;
      if (textOf(turn.message.parts) === 'wait')
        await new Promise((resolve) => io.signal.addEventListener('abort', resolve, { once: true }));
      return { state: 'completed', message: io.say('done') } as const;
    },
    stop: async () => 'dead' as const,
    close: async () => undefined,
  };
  return agent;
};

const openBroken = async (folder: string, recovery: 'fail' | 'retry') => {
  const file = join(folder, 'sealane.db');
  const agent = createAgent();
  const storage = await openStore(`sqlite:${file}`);
  const service = await openService({
    store: storage,
    agents: { test: { connector: agent, recovery } },
    settings: { janitorMs: 300, retryMs: 10, cancelGraceMs: 300, pollMs: 100 },
  });
  /** Resolves when a problem of this name was met. */
  const problem = (what: string): Promise<void> =>
    eventually(async () => {
      const metrics = await (await fetch(`${service.url}/metrics`)).text();
      expect(
        metrics
          .split('\n')
          .filter((line) => line.startsWith('sealane_problems_total'))
          .join('\n'),
      ).toContain(what);
    }, 20_000);
  /** While it is there no turn can end, for a reason that nothing knows to pass. */
  const breakEnds = (): Disposable => {
    const database = new DatabaseSync(file, { timeout: 10_000 });
    database.exec(`CREATE TRIGGER no_ends BEFORE INSERT ON events WHEN NEW.data LIKE '%turn-ended%'
      BEGIN SELECT RAISE(ABORT, 'broken on purpose'); END`);
    return {
      [Symbol.dispose]: () => {
        database.exec('DROP TRIGGER no_ends');
        database.close();
      },
    };
  };
  return {
    agent,
    service,
    breakEnds,
    problem,
    [Symbol.asyncDispose]: async () => {
      await service.close();
      await storage.close();
    },
  };
};

it('a run whose end could not be written is found again and ends, and its lane goes on', async () => {
  using folder = freshFolder();
  await using broken = await openBroken(folder.path, 'fail');
  const { client, sealane } = broken.service;
  let task;
  {
    using _ = broken.breakEnds();
    task = await client.submit('hello', { contextId: 'one' });
    await broken.problem('A run could not be concluded');
    // Whoever finds the run cannot write its end either.
    await broken.problem('A run could not be recovered');
    expect((await client.get(task.id)).status.state).toBe('TASK_STATE_WORKING');
  }
  const { id } = task;
  await eventually(async () => expect((await client.get(id)).status.state).toBe('TASK_STATE_FAILED'), 20_000);
  expect((await client.get(id)).metadata).toMatchObject({ reason: 'interrupted' });
  expect((await client.send('next', { contextId: 'one' })).status.state).toBe('TASK_STATE_COMPLETED');
  expect(broken.agent.asked).toBe(2);
  expect(await sealane.storage.upkeep.counts()).toMatchObject({ waiting: 0, running: 0 });
});

it('a run whose end could not be written is tried again, if its agent says so', async () => {
  using folder = freshFolder();
  await using broken = await openBroken(folder.path, 'retry');
  const { client } = broken.service;
  let task;
  {
    using _ = broken.breakEnds();
    task = await client.submit('hello');
    await broken.problem('A run could not be concluded');
  }
  const { id } = task;
  await eventually(async () => expect((await client.get(id)).status.state).toBe('TASK_STATE_COMPLETED'), 20_000);
  expect(broken.agent.asked).toBe(2);
});

it('a canceled run whose end could not be written ends canceled', async () => {
  using folder = freshFolder();
  await using broken = await openBroken(folder.path, 'fail');
  const { client } = broken.service;
  const { id } = await client.submit('wait');
  {
    using _ = broken.breakEnds();
    expect((await client.cancel(id)).status.state).toBe('TASK_STATE_WORKING');
  }
  await eventually(async () => expect((await client.get(id)).status.state).toBe('TASK_STATE_CANCELED'), 20_000);
});
