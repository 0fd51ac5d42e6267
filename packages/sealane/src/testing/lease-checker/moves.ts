import { memoise } from './memoise.ts';
import { withWrites } from './row-store.ts';
import type { Fault, Mind, Scenario } from './scenario.ts';
import { stepsOf } from './session.ts';
import type { Call, Session, SessionStep, Told } from './session.ts';
import { addressOf, seeIn } from './statement.ts';
import type { Rows } from './statement.ts';
import { instances } from './tables.ts';
import { withMind } from './world.ts';
import type { World } from './world.ts';

/** One thing that can happen next. */
export interface Move {
  readonly next: World;
  readonly isSure: boolean;
  readonly told: Told;
  /** A statement failed that never should. */
  readonly failure?: string | undefined;
}

type Steps = (rows: Rows) => Map<string, readonly SessionStep[]>;

/**
 * All that can happen next in a world: a step of a session, a fault, the end of a lease.
 *
 * A session's steps depend on little: itself, the rows, its instance and who holds which row. The same little comes up
 * in thousands of worlds, so its steps are worked out once; for that, equal sessions and rows must be the same objects.
 */
export const createMoves = (scenario: Scenario): ((world: World) => readonly Move[]) => {
  const stepsIn = memoise<Session, Steps>(() => memoise(() => new Map()));
  const locksOf = memoise(({ open }: Session) => ({ text: ` ${open?.tx.locks.join() ?? ''}` }));
  const endsOfLeases = memoise(endsOfLeasesIn);

  const sessionSteps = (world: World, index: number): readonly SessionStep[] => {
    const session = world.sessions[index]!;
    const plan = scenario.sessions[index]!;
    const mind = world.minds[plan.instance]!;
    const faults = possibleFaults(scenario, world, plan.instance);
    let key = `${index} ${mind} ${faults.length}`;
    for (const [at, other] of world.sessions.entries()) if (at !== index) key += locksOf(other).text;
    const known = stepsIn(session)(world.rows);
    const steps =
      known.get(key) ??
      stepsOf({
        ...plan,
        scenario,
        session,
        mind,
        rows: world.rows,
        taken: world.sessions.flatMap((other, at) => (at === index ? [] : (other.open?.tx.locks ?? []))),
        canLoseAnswer: ({ name }: Call) => faults.some((fault) => fault === `unanswered ${name}`),
      });
    known.set(key, steps);
    return steps;
  };

  const sessionMoves = (world: World, index: number): readonly Move[] => {
    const { instance } = scenario.sessions[index]!;
    return sessionSteps(world, index).map((step) => {
      const stepped = { ...world, rows: step.rows, sessions: world.sessions.with(index, step.session) };
      const next = step.isFault ? harmed(stepped, instance) : stepped;
      const { isSure, told, failure } = step;
      return { next: withMind(scenario, next, instance, step.mind), isSure, told, failure };
    });
  };

  const leaseMoves = (world: World): readonly Move[] =>
    endsOfLeases(world.rows).flatMap(({ instance, rows }) => {
      const mind = world.minds[instance]!;
      // An instance that is awake renews in time, or aborts its runs and is cut off.
      if (mind === 'awake') return [];
      const next = withMind(scenario, { ...world, rows }, instance, mind === 'paused' ? 'overdue' : mind);
      return [{ next, isSure: true, told: { who: 'the clock', statement: `the lease of ${instance} runs out` } }];
    });

  return (world) => [
    ...scenario.sessions.flatMap((_, index) => sessionMoves(world, index)),
    ...world.unharmed.flatMap((instance) => faultMoves(scenario, world, instance)),
    ...leaseMoves(world),
  ];
};

const possibleFaults = (scenario: Scenario, { unharmed, minds }: World, instance: string): readonly Fault[] =>
  unharmed.includes(instance) && minds[instance] === 'awake' ? (scenario.faults[instance] ?? []) : [];

const harmed = (world: World, instance: string): World => ({
  ...world,
  unharmed: world.unharmed.filter((other) => other !== instance),
});

const mindAfter: Readonly<Partial<Record<Fault, Mind>>> = { crash: 'dead', 'cut off': 'stopped', pause: 'paused' };

const faultMoves = (scenario: Scenario, world: World, instance: string): readonly Move[] =>
  possibleFaults(scenario, world, instance).flatMap((fault) => {
    const mind = mindAfter[fault];
    if (mind === undefined) return [];
    const next = withMind(scenario, harmed(world, instance), instance, mind);
    return [{ next, isSure: false, told: { who: instance, statement: fault } }];
  });

/** Time is no transaction: it passes for a row that somebody holds, too. */
const endsOfLeasesIn = (rows: Rows): readonly { readonly instance: string; readonly rows: Rows }[] =>
  seeIn(rows)(instances)
    .filter(({ ranOut }) => !ranOut)
    .map((row) => ({
      instance: row.id,
      rows: withWrites(rows, { [addressOf(instances, row)]: { ...row, ranOut: true } }),
    }));
