import { append, claim, finish, reap, release, renew, requestCancel } from './protocol.ts';
import { opened, resume, step, withWrites } from './row-store.ts';
import type { OpenTransaction } from './row-store.ts';
import type { Mind, Role, Scenario } from './scenario.ts';
import { seeIn } from './statement.ts';
import type { Rows, Transaction } from './statement.ts';
import { instances } from './tables.ts';
import type { EndState, Run } from './tables.ts';

export type Call =
  | { readonly name: 'claim' }
  | { readonly name: 'append'; readonly run: Run }
  | { readonly name: 'finish'; readonly run: Run; readonly end: EndState }
  | { readonly name: 'release'; readonly run: Run }
  | { readonly name: 'reap' }
  | { readonly name: 'renew' }
  | { readonly name: 'requestCancel'; readonly task: string };

/** One connection of an instance, and what that part of the instance remembers. */
export interface Session {
  readonly open: { readonly call: Call; readonly tx: OpenTransaction } | null;
  readonly run: Run | null;
  /** How far the run is: claimed, or its chunk is in the log, or its agent is done and only the finish may be missing. */
  readonly stage: 'claimed' | 'appended' | 'over';
  readonly orphans: readonly Run[];
  readonly cancels: readonly string[];
}

/** All that one session's next step depends on. */
export interface Situation {
  readonly scenario: Scenario;
  readonly instance: string;
  readonly role: Role;
  readonly session: Session;
  readonly mind: Mind;
  readonly rows: Rows;
  /** Rows that other transactions hold. */
  readonly taken: readonly string[];
  /** Whether the answer to this call may get lost. */
  readonly canLoseAnswer: (call: Call) => boolean;
}

/** What the step changes. */
export interface SessionStep {
  readonly session: Session;
  readonly mind: Mind;
  readonly rows: Rows;
  readonly isFault: boolean;
  /** It comes about by the server or an instance that is awake; nobody has to wish it or to recover. */
  readonly isSure: boolean;
  /** In words: whose transaction, which of its statements, and what this step of it did. */
  readonly told: Told;
  /** A statement failed that never should. */
  readonly failure?: string;
}
export interface Told {
  readonly who: string;
  readonly statement: string;
  readonly note?: string;
}

/** A turn is tried twice at most; more attempts repeat the same story. */
const maxAttempts = 2;

export const stepsOf = (situation: Situation): readonly SessionStep[] => {
  const { session, mind } = situation;
  if (session.open === null)
    return mind === 'stopped' || mind === 'dead'
      ? []
      : callsOf(situation).flatMap((call) => advance(situation, call, opened));
  const { call, tx } = session.open;
  const advanced = mind === 'dead' ? [] : advance(situation, call, tx);
  if (mind === 'awake') return advanced;
  const told: Told = { who: nameOf(situation, call), statement: 'ROLLBACK: the server drops the connection' };
  return [...advanced, { ...stay(situation, told), session: { ...session, open: null }, isSure: true }];
};

/** What a session may send when it has nothing under way. */
const callsOf = ({ scenario, session, role, mind, rows }: Situation): readonly Call[] => {
  const { run, stage, orphans, cancels } = session;
  if (role === 'worker') {
    if (run === null) return [{ name: 'claim' }];
    return [stage === 'claimed' ? { name: 'append', run } : { name: 'finish', run, end: 'completed' }];
  }
  if (role === 'reaper') {
    const [orphan] = orphans;
    // A reap that begins while nobody is gone finds nothing, or no more than one that begins later.
    if (!orphan) return isAnybodyGone(scenario, rows) ? [{ name: 'reap' }] : [];
    const fail: Call = { name: 'finish', run: orphan, end: 'failed' };
    return orphan.attempt < maxAttempts ? [fail, { name: 'release', run: orphan }] : [fail];
  }
  // A renewal that begins and ends while its instance is awake changes nothing, and one that is under way when the
  // pause begins is as good as one sent just after it.
  if (role === 'heartbeat') return mind === 'awake' ? [] : [{ name: 'renew' }];
  return cancels.slice(0, 1).map((task) => ({ name: 'requestCancel', task }));
};

const isAnybodyGone = ({ sessions }: Scenario, rows: Rows): boolean => {
  const living = seeIn(rows)(instances).filter(({ ranOut }) => !ranOut);
  return sessions.some(({ instance, role }) => role !== 'caller' && living.every(({ id }) => id !== instance));
};

const begin = ({ scenario, instance }: Situation, call: Call): Transaction<unknown> => {
  const { protocol, lanes } = scenario;
  if (call.name === 'claim') return claim(instance, protocol);
  if (call.name === 'append') return append(call.run, protocol);
  if (call.name === 'finish') return finish(call.run, call.end, protocol);
  if (call.name === 'release') return release(call.run, protocol);
  if (call.name === 'reap') return reap(instance, protocol);
  if (call.name === 'renew') return renew(instance, protocol);
  return requestCancel(call.task, Object.keys(lanes).find((lane) => lanes[lane]?.includes(call.task)) ?? '');
};

/** One step of a transaction: a step of its statement, or its commit. None while it waits for a row. */
const advance = (situation: Situation, call: Call, tx: OpenTransaction): readonly SessionStep[] => {
  const { session, rows, taken } = situation;
  const who = nameOf(situation, call);
  const now = resume(begin(situation, call), tx);
  if (now.done) {
    const committed = { ...situation, rows: withWrites(rows, tx.writes) };
    const answered = {
      ...stay(committed, { who, statement: 'COMMIT' }),
      ...learn(committed, call, now.value.commit ? now.value : undefined),
    };
    return situation.canLoseAnswer(call) ? [answered, loseAnswer(committed, call)] : [answered];
  }
  const { sql } = now.value;
  const stepped = step(now.value, tx, rows, (address) => taken.includes(address));
  if (stepped.kind === 'waits') return [];
  if (stepped.kind === 'failed') {
    const failure = `No statement fails: ${stepped.why}.`;
    return [{ ...stay(situation, { who, statement: sql, note: stepped.why }), failure }];
  }
  // A transaction that gives up does so at once.
  const after = stepped.tx.pending ? undefined : resume(begin(situation, call), stepped.tx);
  if (after?.done && !after.value.commit) {
    const told = { who, statement: sql, note: `${stepped.note}; ROLLBACK` };
    return [{ ...stay(situation, told), ...learn(situation, call, undefined) }];
  }
  const told = { who, statement: sql, note: stepped.note };
  // To cancel is somebody's wish; once begun, it goes on by itself.
  const isWish = call.name === 'requestCancel' && session.open === null;
  const stayed = stay(situation, told);
  return [{ ...stayed, session: { ...session, open: { call, tx: stepped.tx } }, isSure: stayed.isSure && !isWish }];
};

const stay = ({ session, mind, rows }: Situation, told: Told): SessionStep => ({
  session,
  mind,
  rows,
  isFault: false,
  isSure: mind === 'awake',
  told,
});

/** What the instance makes of a transaction's end; without `done` it was rolled back: nothing to do, or lost. */
const learn = (
  { scenario, mind, session }: Situation,
  call: Call,
  done: { readonly value: unknown } | undefined,
): { readonly session: Session; readonly mind: Mind } => {
  const knowing = (news: Partial<Session>, next = mind) => ({
    session: { ...session, open: null, ...news },
    mind: next,
  });
  // Nobody is left to act on the answer.
  if (mind === 'stopped' || mind === 'dead') return knowing({});
  if (call.name === 'claim') return knowing(done ? { run: done.value as Run } : {});
  if (call.name === 'append') return knowing(done ? { stage: 'appended' } : { run: null });
  if (call.name === 'reap') return knowing(done ? { orphans: done.value as readonly Run[] } : {});
  if (call.name === 'requestCancel') return knowing({ cancels: session.cancels.slice(1) });
  if (call.name === 'renew') {
    const isTooLate = mind === 'overdue' && scenario.clock === 'counts';
    return knowing({}, done && !isTooLate ? 'awake' : 'stopped');
  }
  return knowing({ run: null, stage: 'claimed', orphans: session.orphans.slice(1) });
};

/** The commit counts, but the instance never hears of it. */
const loseAnswer = (committed: Situation, call: Call): SessionStep => {
  const { scenario, session } = committed;
  const stage = call.name === 'finish' ? 'over' : session.stage;
  return {
    ...stay(committed, { who: nameOf(committed, call), statement: 'COMMIT, and the answer is lost' }),
    session: { ...session, open: null, stage },
    mind: scenario.unanswered === 'stops' ? 'stopped' : 'awake',
    isFault: true,
    isSure: false,
  };
};

const nameOf = ({ instance, role }: Situation, { name }: Call): string =>
  role === 'caller' ? name : `${instance}'s ${role}, ${name}`;
