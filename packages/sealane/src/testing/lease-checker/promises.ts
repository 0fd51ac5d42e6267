import type { Scenario } from './scenario.ts';
import { seeIn } from './statement.ts';
import type { Rows, See } from './statement.ts';
import { events, heads, isOpen, lanes, tasks, turns } from './tables.ts';
import type { Head, Run, TaskRow } from './tables.ts';
import type { World } from './world.ts';

/**
 * What must hold. The committed rows are looked at whenever they change, with the rows before that change; the runs
 * that are really going on, in every state. Each function answers how its promise is broken, or `undefined`.
 */
export const brokenByCommit = (before: Rows, after: Rows): string | undefined => {
  const was = seeIn(before);
  const is = seeIn(after);
  return staleEvent(was, is) ?? numbering(is) ?? ending(was, is) ?? laneBooks(is) ?? order(is);
};

/** No event is committed by an epoch older than the head's at that commit. */
const staleEvent = (was: See, is: See): string | undefined => {
  const known = new Set(was(events).map(({ task, seq }) => `${task}.${seq}`));
  for (const { task, seq, kind, by } of is(events)) {
    const epoch = was(heads).find((head) => head.task === task)?.epoch ?? 0;
    if (!known.has(`${task}.${seq}`) && by < epoch)
      return `A lost run writes nothing: event ${seq} (${kind}) of ${task} was committed by epoch ${by} in epoch ${epoch}.`;
  }
  return undefined;
};

/** The events of a task are numbered 1 to n, and its head knows n. */
const numbering = (is: See): string | undefined => {
  for (const { task, seq } of is(heads)) {
    const numbers = is(events)
      .filter((event) => event.task === task)
      .map((event) => event.seq);
    if (numbers.length !== seq || Math.max(...numbers) !== seq)
      return `Events have no gaps: ${task} has ${numbers.join()} and its head says ${seq}.`;
  }
  return undefined;
};

/** The first terminal state is final; there is exactly one terminal event, and it is the last event. */
const ending = (was: See, is: See): string | undefined => {
  for (const { task, state } of is(tasks)) {
    const before = was(tasks).find((row) => row.task === task)?.state ?? 'submitted';
    if (!isOpen(before) && state !== before) return `A task ends once: ${task} was ${before} and is ${state}.`;
    const ends = is(events).filter(
      ({ task: of, kind }) => of === task && (kind === 'completed' || kind === 'failed' || kind === 'canceled'),
    );
    if (ends.length > 1) return `A task ends once: ${task} has ${ends.map(({ kind }) => kind).join(' and ')}.`;
    if ((ends[0]?.kind ?? 'open') !== (isOpen(state) ? 'open' : state))
      return `State and log agree: ${task} is ${state}, its log says ${ends[0]?.kind ?? 'open'}.`;
    const last = is(heads).find((head) => head.task === task)?.seq;
    if (ends[0] && ends[0].seq !== last)
      return `Nothing follows the end: ${task} ended with event ${ends[0].seq} of ${last}.`;
  }
  return undefined;
};

/** A lane counts its turns, and one turn at most is held, by whoever holds the lane. */
const laneBooks = (is: See): string | undefined => {
  for (const { key, holder, waiting } of is(lanes)) {
    const mine = is(turns).filter(({ lane }) => lane === key);
    const held = mine.filter((turn) => turn.holder !== null);
    if (waiting !== mine.length) return `A lane counts its turns: ${key} says ${waiting} and has ${mine.length}.`;
    if (held.length > 1) return `One run per lane: ${held.map(({ task }) => task).join(' and ')} are held in ${key}.`;
    if ((held[0]?.holder ?? null) !== holder)
      return `Lane and turn have one holder: ${key} is held by ${holder}, its turn by ${held[0]?.holder ?? null}.`;
  }
  return undefined;
};

/** No turn starts before every earlier turn of its lane has ended. */
const order = (is: See): string | undefined => {
  for (const { task, lane, place, holder } of is(turns)) {
    const earlier = is(turns).find((turn) => turn.lane === lane && turn.place < place);
    const state = is(tasks).find((row) => row.task === task)?.state;
    if (earlier && (holder !== null || state === 'working'))
      return `Lanes keep their order: ${task} started before ${earlier.task} ended.`;
  }
  return undefined;
};

/** What must hold for the runs in the hands of the instances. */
export const brokenByRuns = (scenario: Scenario, world: World): string | undefined =>
  liveRuns(scenario, world) ?? tokens(scenario, world);

/**
 * An instance that is awake is right about its runs: each is the only one in its lane, and the epoch is still its own.
 * A zombie may run on unknown to all; of its doings only the rows count.
 */
const liveRuns = ({ sessions }: Scenario, world: World): string | undefined => {
  const running = new Map<string, string>();
  for (const [index, { run, stage }] of world.sessions.entries()) {
    const { instance } = sessions[index]!;
    if (run === null || stage === 'over' || world.minds[instance] !== 'awake') continue;
    const other = running.get(run.lane);
    if (other !== undefined) return `One run per lane: ${other} and ${instance} both run a turn of ${run.lane}.`;
    running.set(run.lane, instance);
    const { epoch } = headOf(world, run);
    if (epoch !== run.epoch)
      return `A live run is not taken away: ${instance} runs ${run.task} in epoch ${run.epoch}, and it is ${epoch}.`;
  }
  return undefined;
};

/** Of all who could still write to a task, zombies and statements under way included, one at most gets past the fence. */
const tokens = ({ sessions }: Scenario, world: World): string | undefined => {
  const holders = new Map<string, number>();
  for (const [index, { run, orphans, open }] of world.sessions.entries()) {
    const sent = open !== null && 'run' in open.call ? open.call.run : null;
    for (const token of [run, sent, ...orphans]) {
      if (token === null || headOf(world, token).epoch !== token.epoch || !isTaskOpen(world, token)) continue;
      const other = holders.get(token.task);
      if (other !== undefined && other !== index)
        return `One run per lane: ${sessions[other]?.instance} and ${sessions[index]?.instance} may both write to ${token.task} in epoch ${token.epoch}.`;
      holders.set(token.task, index);
    }
  }
  return undefined;
};

const headOf = ({ rows }: World, { task }: Run): Head => rows[`${heads.name}/${task}`] as Head;

const isTaskOpen = ({ rows }: World, { task }: Run): boolean =>
  isOpen((rows[`${tasks.name}/${task}`] as TaskRow).state);

export const allEnded = (rows: Rows): boolean => seeIn(rows)(tasks).every(({ state }) => !isOpen(state));
