import { describe, expect, it, onTestFinished } from 'vitest';

import { agentNamed } from '#protocol/agent-named.fixture';
import { openStore, type TaskStore } from '#store';

import { createAgentRegistry } from '../agent-registry.ts';
import { createDispatcher } from './dispatcher.ts';
import { createLease } from './lease.ts';
import { settingsOf } from '../settings.ts';

type Claim = TaskStore['claim'];

/** A dispatcher that has started. Its poll comes too late to help: only a kick leads to a claim. */
const open = async (claim: Claim, concurrency = 4) => {
  const storage = await openStore('memory');
  const lease = createLease({
    store: storage.tasks,
    newId: () => 'me',
    leaseMs: 600_000,
    renewMs: 600_000,
    onLost: () => undefined,
  });
  await lease.start();
  const problems: unknown[] = [];
  const claims = withCount(claim);
  const dispatcher = createDispatcher({
    store: { claim: claims.call },
    registry: createAgentRegistry([agentNamed('gate', { concurrency }), agentNamed('other')]),
    lease,
    settings: settingsOf({ pollMs: 3_600_000 }),
    now: Date.now,
    onClaimed: () => undefined,
    onProblem: (error) => problems.push(error),
  });
  onTestFinished(async () => {
    await dispatcher.stop();
    await lease.stop();
    await storage.close();
  });
  dispatcher.start();
  return { dispatcher, claims, problems };
};

/** Calls a claim, and tells which of its calls have begun. */
const withCount = (claim: Claim) => {
  const begun: Parameters<Claim>[0][] = [];
  let listeners: (() => void)[] = [];
  return {
    begun,
    call: (...args: Parameters<Claim>) => {
      begun.push(...args);
      for (const tell of listeners) tell();
      listeners = [];
      return claim(...args);
    },
    /** Resolves when the n-th claim has begun, counted from 1. */
    nth: async (count: number): Promise<void> => {
      while (begun.length < count) await new Promise<void>((resolve) => listeners.push(resolve));
    },
  };
};

/** Everything that can still happen without the help of a timer has happened. */
const settled = () => new Promise(setImmediate);

it('a turn that becomes ready while all slots of its agent are taken is claimed when a slot is given back', async () => {
  const { dispatcher, claims } = await open(async () => [], 1);
  await settled();
  dispatcher.reserve('gate');
  const before = claims.begun.length;
  dispatcher.kick();
  await settled();
  expect(claims.begun.slice(before).map(({ free }) => Object.keys(free))).toEqual([['other']]);
  dispatcher.release('gate');
  await settled();
  expect(claims.begun.slice(before + 1).flatMap(({ free }) => Object.keys(free))).toContain('gate');
});

describe('a kick', () => {
  it.each(Array.from({ length: 8 }, (_, turns) => turns))(
    'that comes %i microtasks after the answer of a claim leads to another claim',
    async (turns) => {
      const answer = Promise.withResolvers<[]>();
      const { dispatcher, claims } = await open(() => answer.promise);
      await claims.nth(1);
      answer.resolve([]);
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
      dispatcher.kick();
      await settled();
      expect(claims.begun).toHaveLength(2);
    },
  );

  it('whose claim throws is served by another claim, without a poll', async () => {
    let isBroken = true;
    const { claims, problems } = await open(async () => {
      if (!isBroken) return [];
      isBroken = false;
      throw new Error('The store is unreachable.');
    });
    await claims.nth(2);
    expect(problems).toHaveLength(1);
    // The first kick said that turns may wait, so the claim asks for more than one turn again.
    expect(claims.begun[1]?.free).toEqual(claims.begun[0]?.free);
  });

  it('that comes while a claim is about to throw is served by another claim', async () => {
    const answer = Promise.withResolvers<[]>();
    const { dispatcher, claims } = await open(() => answer.promise);
    await claims.nth(1);
    dispatcher.kick();
    answer.reject(new Error('The store is unreachable.'));
    await claims.nth(2);
  });

  it('whose claim throws lets no turn overtake those that wait', async () => {
    const answer = Promise.withResolvers<[]>();
    const { dispatcher, claims } = await open(() => answer.promise, 1);
    await claims.nth(1);
    // The claim has taken the only slot, so this turn has to wait.
    expect(dispatcher.reserve('gate')).toBe(undefined);
    answer.reject(new Error('The store is unreachable.'));
    await settled();
    expect(dispatcher.runningOf('gate')).toBe(0);
    expect(dispatcher.reserve('gate')).toBe(undefined);
  });

  it('does not hammer a store that is broken', async () => {
    const times: number[] = [];
    const { dispatcher, claims } = await open(async () => {
      times.push(performance.now());
      throw new Error('The store is unreachable.');
    });
    const kicking = setInterval(() => dispatcher.kick(), 1);
    onTestFinished(() => clearInterval(kicking));
    await claims.nth(4);
    const pauses = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    // 100, 200 and 400 ms; timers may be early by less than a millisecond.
    expect(pauses.map((ms, index) => ms >= 100 * 2 ** index - 1)).toEqual([true, true, true]);
  });
});

describe('a set of paused agents', () => {
  it('leads to a claim only when it lacks an agent that it had before', async () => {
    const { dispatcher, claims } = await open(async () => []);
    const claimsAfter = async (...paused: readonly string[]): Promise<number> => {
      const before = claims.begun.length;
      dispatcher.setPaused(paused);
      await settled();
      return claims.begun.length - before;
    };
    await settled();
    expect(await claimsAfter()).toBe(0);
    expect(await claimsAfter('gate')).toBe(0);
    expect(await claimsAfter('gate')).toBe(0);
    expect(await claimsAfter('gate', 'other')).toBe(0);
    expect(await claimsAfter('other')).toBe(1);
    expect(await claimsAfter()).toBe(1);
  });
});
