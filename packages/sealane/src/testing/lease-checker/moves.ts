import { append, claim, finish, instances, reap, release, renew, requestCancel } from './protocol.ts';
import type { Run } from './protocol.ts';
import { opened, resume, step, withWrites } from './row-store.ts';
import type { OpenTransaction } from './row-store.ts';
import { addressOf, seeIn } from './statement.ts';
import type { Transaction } from './statement.ts';
import { withMind, withSession } from './world.ts';
import type { Call, Fault, Mind, Role, Scenario, Session, World } from './world.ts';

/** One thing that can happen next. */
export interface Move {
  readonly next: World;
  /** It comes about by the clock, the server or an instance that is awake; nobody has to wish it or to recover. */
  readonly isSure: boolean;
  readonly tell: () => Told;
  /** A statement failed that never should. */
  readonly failure?: string;
}

/** A move in words: whose transaction, which of its statements, and what this step of it did. */
export interface Told {
  readonly who: string;
  readonly statement: string;
  readonly note?: string;
}

/** A turn is tried twice at most; more attempts repeat the same story. */
const maxAttempts = 2;

export const movesOf = (scenario: Scenario, world: World): readonly Move[] => [
  ...scenario.sessions.flatMap((_, index) => sessionMoves(scenario, world, index)),
  ...Object.keys(world.minds).flatMap((instance) => [
    ...faultsOf(scenario, world, instance),
    ...leaseRunsOut(scenario, world, instance),
  ]),
];

const sessionMoves = (scenario: Scenario, world: World, index: number): readonly Move[] => {
  const session = world.sessions[index]!;
  const { instance, role } = scenario.sessions[index]!;
  const mind = world.minds[instance]!;
  if (session.open === null)
    return callsOf(session, role, mind).flatMap((call) => advance(scenario, world, index, call, opened));
  const { call, tx } = session.open;
  const dropped: Move = {
    next: withSession(world, index, { ...session, open: null }),
    isSure: true,
    tell: () => ({ who: nameOf(scenario, index, call), statement: 'ROLLBACK: the server drops the connection' }),
  };
  return [
    ...(mind === 'dead' ? [] : advance(scenario, world, index, call, tx)),
    ...(mind === 'awake' ? [] : [dropped]),
  ];
};

/** What a session may send when it has nothing under way. */
const callsOf = ({ run, hasAppended, orphans, cancels }: Session, role: Role, mind: Mind): readonly Call[] => {
  if (mind === 'stopped' || mind === 'dead') return [];
  switch (role) {
    case 'worker':
      if (run === null) return [{ name: 'claim' }];
      return [hasAppended ? { name: 'finish', run, end: 'completed' } : { name: 'append', run }];
    case 'reaper': {
      const [orphan] = orphans;
      if (!orphan) return [{ name: 'reap' }];
      const fail: Call = { name: 'finish', run: orphan, end: 'failed' };
      return orphan.attempt < maxAttempts ? [fail, { name: 'release', run: orphan }] : [fail];
    }
    case 'heartbeat':
      // A renewal that begins and ends while its instance is awake changes nothing, and one that is under way when the
      // pause begins is as good as one sent just after it.
      return mind === 'awake' ? [] : [{ name: 'renew' }];
    case 'caller':
      return cancels.slice(0, 1).map((task) => ({ name: 'requestCancel', task }));
  }
};

const begin = (scenario: Scenario, instance: string, call: Call): Transaction<unknown> => {
  const { protocol } = scenario;
  switch (call.name) {
    case 'claim':
      return claim(instance, protocol);
    case 'append':
      return append(call.run, protocol);
    case 'finish':
      return finish(call.run, call.end, protocol);
    case 'release':
      return release(call.run, protocol);
    case 'reap':
      return reap(instance, protocol);
    case 'renew':
      return renew(instance, protocol);
    case 'requestCancel':
      return requestCancel(call.task, laneOf(scenario, call.task));
  }
};

/** One step of a session's transaction: a step of its statement, or its commit. None while it waits for a row. */
const advance = (
  scenario: Scenario,
  world: World,
  index: number,
  call: Call,
  tx: OpenTransaction,
): readonly Move[] => {
  const { instance } = scenario.sessions[index]!;
  const session = world.sessions[index]!;
  const isWish = call.name === 'requestCancel' && session.open === null;
  const move = (next: World, statement: string, note?: string): Move => ({
    next,
    isSure: world.minds[instance] === 'awake' && !isWish,
    tell: () => ({ who: nameOf(scenario, index, call), statement, ...(note !== undefined && { note }) }),
  });

  const now = resume(begin(scenario, instance, call), tx);
  if (now.done) {
    const committed = { ...world, rows: withWrites(world.rows, tx.writes) };
    const answered = learn(scenario, committed, index, call, now.value.commit ? now.value : undefined);
    return [move(answered, 'COMMIT'), ...unanswered(scenario, committed, index, call)];
  }
  const { sql } = now.value;
  const isTaken = (address: string) =>
    world.sessions.some((other, at) => at !== index && other.open?.tx.locks.includes(address));
  const stepped = step(now.value, tx, world.rows, isTaken);
  if (stepped.kind === 'waits') return [];
  if (stepped.kind === 'failed')
    return [{ ...move(world, sql, stepped.why), failure: `No statement fails: ${stepped.why}.` }];

  // A transaction that gives up does so at once.
  const after = stepped.tx.pending ? undefined : resume(begin(scenario, instance, call), stepped.tx);
  if (after?.done && !after.value.commit)
    return [move(learn(scenario, world, index, call, undefined), sql, `${stepped.note}; ROLLBACK`)];
  const next = withSession(world, index, { ...session, open: { call, tx: stepped.tx } });
  return [move(next, sql, stepped.note)];
};

/** What the session makes of its transaction's end; without `done` it was rolled back: nothing to do, or lost. */
const learn = (
  scenario: Scenario,
  world: World,
  index: number,
  call: Call,
  done: { readonly value: unknown } | undefined,
): World => {
  const { instance } = scenario.sessions[index]!;
  const session: Session = { ...world.sessions[index]!, open: null };
  const mind = world.minds[instance]!;
  const knowing = (news: Partial<Session>) => withSession(world, index, { ...session, ...news });
  // Nobody is left to act on the answer.
  if (mind === 'stopped' || mind === 'dead') return knowing({});
  switch (call.name) {
    case 'claim':
      return knowing(done ? { run: done.value as Run } : {});
    case 'append':
      return knowing(done ? { hasAppended: true } : { run: null });
    case 'finish':
    case 'release':
      return knowing({ run: null, hasAppended: false, orphans: session.orphans.slice(1) });
    case 'reap':
      return knowing(done ? { orphans: done.value as readonly Run[] } : {});
    case 'requestCancel':
      return knowing({ cancels: session.cancels.slice(1) });
    case 'renew': {
      const isTooLate = mind === 'overdue' && scenario.clock === 'counts';
      return withMind(scenario, knowing({}), instance, done && !isTooLate ? 'awake' : 'stopped');
    }
  }
};

/** The commit counts, but its session never hears of it. */
const unanswered = (scenario: Scenario, committed: World, index: number, call: Call): readonly Move[] => {
  const { instance } = scenario.sessions[index]!;
  const fault = `unanswered ${call.name}`;
  if (!canSuffer(scenario, committed, instance).some((possible) => possible === fault)) return [];
  const unaware = withSession(harmed(committed, instance), index, { ...committed.sessions[index]!, open: null });
  return [
    {
      next: scenario.unanswered === 'stops' ? withMind(scenario, unaware, instance, 'stopped') : unaware,
      isSure: false,
      tell: () => ({ who: nameOf(scenario, index, call), statement: 'COMMIT, and the answer is lost' }),
    },
  ];
};

const canSuffer = (scenario: Scenario, { unharmed, minds }: World, instance: string): readonly Fault[] =>
  unharmed.includes(instance) && minds[instance] === 'awake' ? (scenario.faults[instance] ?? []) : [];

const harmed = (world: World, instance: string): World => ({
  ...world,
  unharmed: world.unharmed.filter((other) => other !== instance),
});

const mindAfter: Readonly<Partial<Record<Fault, Mind>>> = { crash: 'dead', 'cut off': 'stopped', pause: 'paused' };

const faultsOf = (scenario: Scenario, world: World, instance: string): readonly Move[] =>
  canSuffer(scenario, world, instance).flatMap((fault) => {
    const mind = mindAfter[fault];
    if (mind === undefined) return [];
    const next = withMind(scenario, harmed(world, instance), instance, mind);
    return [{ next, isSure: false, tell: () => ({ who: instance, statement: fault }) }];
  });

/** Time is no transaction: it passes for a row that somebody holds, too. */
const leaseRunsOut = (scenario: Scenario, world: World, instance: string): readonly Move[] => {
  const row = seeIn(world.rows)(instances).find(({ id }) => id === instance);
  const mind = world.minds[instance]!;
  if (!row || row.ranOut || mind === 'awake') return [];
  const rows = withWrites(world.rows, { [addressOf(instances, row)]: { ...row, ranOut: true } });
  return [
    {
      next: withMind(scenario, { ...world, rows }, instance, mind === 'paused' ? 'overdue' : mind),
      isSure: true,
      tell: () => ({ who: 'the clock', statement: `the lease of ${instance} runs out` }),
    },
  ];
};

const nameOf = (scenario: Scenario, index: number, { name }: Call): string => {
  const { instance, role } = scenario.sessions[index]!;
  return role === 'caller' ? name : `${instance}'s ${role}, ${name}`;
};

const laneOf = (scenario: Scenario, task: string): string =>
  Object.keys(scenario.lanes).find((lane) => scenario.lanes[lane]!.includes(task))!;
