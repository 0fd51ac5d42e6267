import type * as FastCheck from 'fast-check';

import { type State, STATES } from '#domain';

import { admit, follow, handleOwed } from './admission-steps.ts';
import type { FastCheckMember } from './given-fast-check.ts';
import type { ModelTask } from './model.ts';
import { look, observe, pickInstance, pickRun, type World } from './model-world.ts';
import { append, claim, finish, mayRelease, mayReport, reap, release, remember, type Report } from './run-steps.ts';
import { enter, expire, force, leave, pauseAgent, pauseLane, remove, renew, requestCancel } from './task-steps.ts';

/** What the suites need of fast-check. */
export type Fc = Pick<typeof FastCheck, FastCheckMember>;

/** One step on both sides, and then a look at everything. */
export type StoreCommand = FastCheck.AsyncCommand<World, World>;

const command =
  <A extends object>(
    step: (world: World, args: A) => Promise<readonly ModelTask[]>,
    isPossible: (world: World, args: A) => boolean = () => true,
  ) =>
  (args: A): StoreCommand => ({
    check: (world) => isPossible(world, args),
    run: async (world) => observe(world, await step(world, args)),
    toString: () => `${step.name}(${JSON.stringify(args)})`,
  });

const hasInstance = ({ model }: World): boolean => model.instances.length > 0;
const hasTask = ({ model }: World): boolean => model.tasks.length > 0;
const hasRun = ({ model }: World): boolean => model.runs.length > 0;
const canReport = (world: World, args: { readonly run: number }): boolean =>
  hasRun(world) && mayReport(pickRun(world, args.run));
const canRelease = (world: World, args: { readonly run: number }): boolean =>
  hasRun(world) && mayRelease(pickRun(world, args.run));
const isAlive = (world: World, args: { readonly instance: number }): boolean =>
  pickInstance(world, args.instance).lease === 'held';
/** So many live at a time; the dead are not forgotten. */
const MOST_ALIVE = 3;
const isRoom = ({ model }: World): boolean =>
  model.instances.filter(({ lease }) => lease === 'held').length < MOST_ALIVE;

/** Random steps. Picks are small numbers, counted round the list that they pick from. */
export const storeCommands = (fc: Fc) => {
  const index = fc.nat({ max: 11 });
  const instance = fc.nat({ max: 11 });
  const rarely = fc.constantFrom(false, false, false, true);
  const seldom = <T>(some: FastCheck.Arbitrary<T>) =>
    fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: some });
  const slot = fc.option(instance, { freq: 2 });
  const caller = seldom(index);
  const limits = fc.constantFrom(
    { laneWaiting: 9999, ownerWaiting: 0 },
    { laneWaiting: 2, ownerWaiting: 0 },
    { laneWaiting: 9999, ownerWaiting: 3 },
  );
  const lane = fc.nat({ max: 3 });
  const report = fc.constantFrom<Report[]>('chunk', 'chunk', 'progress', 'question');
  const ends = fc.constantFrom<State[]>(
    'completed',
    'completed',
    'failed',
    'input-required',
    'input-required',
    'canceled',
  );

  const admitted = fc
    .record({
      lane,
      slot,
      key: seldom(fc.nat({ max: 1 })),
      body: fc.nat({ max: 1 }),
      caller,
      limits,
      isFollowed: fc.boolean(),
      take: fc.constantFrom(0, 0, 0, 1, 2),
    })
    .map(command(admit));
  const handled = fc.record({ instance, add: fc.constantFrom(0, 1, 3) }).map(command(handleOwed, hasInstance));
  const followed = fc
    .record({ task: index, slot, isSteerable: fc.boolean(), isKnown: rarely, isForeign: rarely, caller, limits })
    .map(command(follow, hasTask));
  const free = fc.constantFrom<(readonly [number, number])[]>([1, 1], [2, 1], [3, 0], [0, 2]);
  const claimed = fc
    .record({ instance, free, ownerRunning: fc.constantFrom(0, 0, 1, 2), afterMs: fc.constantFrom(1000, 1000, 10_000) })
    .map(command(claim));
  const appended = fc
    .record({ run: index, reports: fc.array(report, { minLength: 1, maxLength: 3 }) })
    .map(command(append, canReport));
  const remembered = fc.record({ run: index, ref: fc.nat({ max: 9 }) }).map(command(remember, hasRun));
  const finished = fc
    .record({ run: index, state: ends, isWhole: fc.boolean(), release: fc.boolean() })
    .map(command(finish, canReport));
  const released = fc
    .record({ run: index, retryInMs: fc.constant(null), isDrain: fc.constant(false) })
    .map(command(release, canRelease));
  const retried = fc
    .record({ run: index, retryInMs: fc.constantFrom(0, 5000), isDrain: fc.boolean() })
    .map(command(release, canReport));
  const canceled = fc.record({ task: index, isForeign: rarely }).map(command(requestCancel, hasTask));
  const from = fc.constantFrom<(readonly State[])[]>(STATES, ['submitted'], ['working', 'input-required']);
  const forced = fc.record({ task: index, from }).map(command(force, hasTask));
  const removed = fc.record({ task: index, isForeign: rarely }).map(command(remove, hasTask));
  const looked = fc
    .record({ task: index, instance, after: fc.nat({ max: 4 }), limit: fc.constantFrom(1, 2, 100) })
    .map(command(look, hasTask));

  const joined = fc.record({}).map(command(enter, isRoom));
  const leased = fc.record({ instance });
  const lanePaused = fc.record({ lane, isPaused: fc.boolean() }).map(command(pauseLane));
  const agentPaused = fc.record({ lane, isPaused: rarely }).map(command(pauseAgent));
  return [
    admitted,
    admitted,
    admitted,
    admitted,
    followed,
    followed,
    handled,
    handled,
    claimed,
    claimed,
    claimed,
    claimed,
    appended,
    remembered,
    finished,
    finished,
    released,
    retried,
    canceled,
    forced,
    removed,
    looked,
    joined,
    leased.map(command(expire, isAlive)),
    leased.map(command(leave, isAlive)),
    leased.map(command(renew)),
    leased.map(command(reap)),
    leased.map(command(reap)),
    lanePaused,
    agentPaused,
  ];
};
