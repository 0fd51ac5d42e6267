import { queryObjects } from 'node:v8';

import { afterEach, describe, expect, it } from 'vitest';

import type { AgentConnector, RunIo, Turn } from './agent-connector.ts';
import { createCommandAgent } from './command/command-agent.ts';
import { recordedIo, turnOf } from './command/recorded-run.fixture.ts';
import { eitherSignal } from './either-signal.ts';
import { accepted, openScriptedAgent, said, turnOf as askOf } from './openclaw/gateway/scripted-agent.fixture.ts';
import { createScriptedIo } from './openclaw/scripted-io.fixture.ts';

/** Long, and short enough for one frame of the scripted Gateway. */
const WORDS = 'x'.repeat(60_000);

/** What there is of these objects, and how much memory, when all that nobody needs has been given back. */
const census = (): { readonly signals: number; readonly bytes: number } => ({
  signals: queryObjects(AbortSignal) as number,
  bytes: process.memoryUsage().heapUsed,
});

/** What is kept of so many runs when they are over. */
const keptOf = async (runs: number, agent: AgentConnector, turn: Turn, newIo: () => RunIo) => {
  const settle = async (): Promise<ReturnType<typeof census>> => {
    // What this turn of the event loop has touched lives until the next.
    await new Promise((resolve) => setTimeout(resolve, 20));
    return census();
  };
  const run = async (): Promise<void> => {
    expect(await agent.run(turn, newIo())).toMatchObject({ state: 'completed' });
  };
  for (let number = 0; number < 3; number += 1) await run();
  const before = await settle();
  for (let number = 0; number < runs; number += 1) await run();
  const after = await settle();
  return { signals: after.signals - before.signals, bytes: after.bytes - before.bytes };
};

describe('an agent that lives long keeps nothing of runs that are over', () => {
  const open: AgentConnector[] = [];
  afterEach(async () => {
    for (const agent of open.splice(0)) await agent.close();
  });

  it('as a program', async () => {
    const agent = createCommandAgent({ command: ['cat'] });
    open.push(agent);
    expect((await keptOf(20, agent, turnOf('hello'), recordedIo)).signals).toBeLessThan(10);
  });

  it('as an OpenClaw behind its Gateway, not even what it has said', async () => {
    const { agent } = await openScriptedAgent(({ method }) =>
      method === 'agent' ? { ...accepted, final: said(WORDS) } : undefined,
    );
    const kept = await keptOf(60, agent, askOf('guarded'), () => createScriptedIo().io);
    expect(kept.signals).toBeLessThan(10);
    expect(kept.bytes).toBeLessThan(30 * WORDS.length);
  });
});

describe('a signal of two', () => {
  it('is aborted by whichever comes first, with its reason', () => {
    const [one, two] = [new AbortController(), new AbortController()];
    using either = eitherSignal(one.signal, two.signal);
    expect(either.signal.aborted).toBe(false);
    two.abort('second');
    one.abort('first');
    expect(either.signal.reason).toBe('second');
  });

  it('is aborted from the start when one of them was', () => {
    using either = eitherSignal(new AbortController().signal, AbortSignal.abort('before'));
    expect(either.signal.reason).toBe('before');
  });

  it('hears nothing more when its run is over', () => {
    const long = new AbortController();
    const either = eitherSignal(new AbortController().signal, long.signal);
    either[Symbol.dispose]();
    long.abort();
    expect(either.signal.aborted).toBe(false);
  });
});
