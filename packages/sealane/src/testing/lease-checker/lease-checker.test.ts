import { describe, expect, it } from 'vitest';
import { explore } from './explore.ts';
import type { Role, Scenario } from './scenario.ts';
import { sealane } from './variants.ts';

const session = (instance: string, role: Role) => ({ instance, role });
const [workerA, workerB, reaperB] = [session('A', 'worker'), session('B', 'worker'), session('B', 'reaper')];
const heartbeatA = session('A', 'heartbeat');
const caller = session('caller', 'caller');

/** Two instances, one lane with two tasks, nothing goes wrong. */
const calm: Scenario = {
  protocol: sealane,
  lanes: { L: ['T1', 'T2'] },
  sessions: [workerA, workerB],
  faults: {},
  cancels: [],
  clock: 'counts',
  unanswered: 'stops',
};
/** A becomes a zombie at some point; B reaps. */
const zombie: Scenario = { ...calm, sessions: [workerA, heartbeatA, workerB, reaperB], faults: { A: ['pause'] } };

const expectToHold = (scenario: Scenario, atLeastStates: number) => {
  const { states, counterexample } = explore(scenario);
  if (counterexample !== undefined) expect.fail(counterexample);
  // A scenario that stops exploring early would hold everything.
  expect(states).toBeGreaterThan(atLeastStates);
};

const expectToBreak = (scenario: Scenario, promise: string) => {
  const { counterexample } = explore(scenario);
  expect(counterexample?.split('\n')[0]).toContain(promise);
  return counterexample ?? '';
};

// Some hundred thousand states take seconds on a busy machine.
describe('the lease protocol keeps its promises in every order of steps', { timeout: 60_000 }, () => {
  it('when two instances share a lane and both tasks are canceled at any time', () => {
    expectToHold({ ...calm, sessions: [workerA, workerB, caller], cancels: ['T2', 'T1'] }, 1_000);
  });

  it('when an instance crashes, is cut off, is paused or misses an answer, and the first task is canceled', () => {
    const faults = { A: ['crash', 'cut off', 'pause', 'unanswered claim', 'unanswered finish'] } as const;
    expectToHold({ ...zombie, sessions: [...zombie.sessions, caller], cancels: ['T1'], faults }, 50_000);
  });

  it('when an instance crashes and the second task is canceled', () => {
    const sessions = [workerA, workerB, reaperB, caller];
    expectToHold({ ...calm, sessions, cancels: ['T2'], faults: { A: ['crash'] } }, 7_000);
  });

  it('when a zombie reaps, even itself', () => {
    const sessions = [...zombie.sessions, session('A', 'reaper')];
    expectToHold({ ...zombie, lanes: { L: ['T1'] }, sessions }, 10_000);
  });

  it('when an instance dies with the runs of two lanes', () => {
    const sessions = [workerA, workerA, workerB, reaperB];
    expectToHold({ ...calm, lanes: { L1: ['T1'], L2: ['T2'] }, sessions, faults: { A: ['crash'] } }, 50_000);
  });

  it('when the reaper goes the way of the instance it reaps', () => {
    const sessions = [workerA, reaperB, session('C', 'reaper'), session('C', 'worker')];
    const faults = { A: ['crash'], B: ['pause'] } as const;
    expectToHold({ ...calm, lanes: { L: ['T1'] }, sessions, faults }, 20_000);
  });
});

describe('the runner’s own rules are enough without the precautions', { timeout: 60_000 }, () => {
  const bare = { ...sealane, upsertLease: true, finishEndsEpoch: false };

  it('when a zombie’s clock counts on, though renew makes its row anew', () => {
    expectToHold({ ...zombie, protocol: bare }, 7_000);
  });

  it('when it counts on, though reap only reads its lease', () => {
    expectToHold({ ...zombie, protocol: { ...bare, upsertLease: false, reapReadsLease: true } }, 7_000);
  });
});

describe('the checker finds', { timeout: 60_000 }, () => {
  it('a completed task set to working by a claim in one statement', () => {
    const story = expectToBreak(
      { ...calm, protocol: { ...sealane, oneStatementClaim: true } },
      'A task ends once: T1 was completed and is working.',
    );
    // The race itself: one takes its snapshot, the other claims and finishes, the first locks what it saw.
    expect(story).toMatch(/B's worker, claim\n.*\n.*snapshot and finds lanes\/L\n[^]*A's worker, finish\n[^]*COMMIT/);
  });

  it('a zombie’s event behind an unlocked fence', () => {
    expectToBreak({ ...zombie, protocol: { ...sealane, unlockedFence: true } }, 'A lost run writes nothing');
  });

  it('nothing wrong with the unlocked fence as long as nobody is a zombie', () => {
    expectToHold({ ...calm, protocol: { ...sealane, unlockedFence: true } }, 100);
  });

  it('a zombie’s end of a turn that is no longer its own, when finish has no fence', () => {
    expectToBreak({ ...zombie, protocol: { ...sealane, noFence: true } }, 'A lost run writes nothing');
  });

  it('a claim that nobody reaps when reap forgets the instance with its lease', () => {
    expectToBreak({ ...zombie, protocol: { ...sealane, reapOnce: true } }, 'No turn is lost');
  });
});

describe('a runner whose clock stood still while it was paused', { timeout: 60_000 }, () => {
  const suspended: Scenario = { ...zombie, clock: 'stands still' };

  it('learns from its next renewal that its runs were taken', () => {
    expectToHold(suspended, 10_000);
  });

  it('goes on with them if renew revives a lease that has run out', () => {
    const protocol = { ...sealane, reapReadsLease: true, reviveLease: true };
    expectToBreak({ ...suspended, protocol }, 'A live run is not taken away');
  });

  it('goes on with them if renew makes its deleted row anew', () => {
    expectToBreak({ ...suspended, protocol: { ...sealane, upsertLease: true } }, 'A live run is not taken away');
  });

  it('goes on with them if reap only reads its lease while a renewal is under way', () => {
    expectToBreak({ ...suspended, protocol: { ...sealane, reapReadsLease: true } }, 'A live run is not taken away');
  });
});

describe('an instance that takes a lost answer for a rollback', () => {
  const stubborn: Scenario = { ...calm, unanswered: 'tries again' };

  it('still ends a task once', () => {
    expectToHold({ ...stubborn, faults: { A: ['unanswered finish'] } }, 300);
  });

  it('ends it twice if finish leaves its epoch open', () => {
    const protocol = { ...sealane, finishEndsEpoch: false };
    expectToBreak({ ...stubborn, protocol, faults: { A: ['unanswered finish'] } }, 'A task ends once');
  });

  it('holds a lane for ever that it does not know it has claimed', () => {
    expectToBreak({ ...stubborn, faults: { A: ['unanswered claim'] } }, 'No turn is lost');
  });
});
