import { runIdOf } from '#domain';

import type { Result } from '../result.ts';
import type { CallFacts, Instant, QueueLimits, Slot } from '../task-store.ts';
import {
  ENTER_LANE,
  IS_PAUSED,
  type LaneRow,
  MAKE_HELD_LANE,
  RUNNING_IN,
  TURNS_AHEAD,
  WAITING_BEYOND,
} from './lanes.sql.ts';
import { makeReady } from './lanes.ts';
import { first, type Param, type Steps } from './step.ts';

export interface Entrant {
  readonly session: string;
  readonly agent: string;
  readonly owner: string;
  readonly call: CallFacts;
  readonly slot?: Slot;
  readonly limits: QueueLimits;
}

export interface Entered {
  /** The lane, and the place that the turn took in it. */
  readonly lane: Pick<LaneRow, 'k' | 'places'>;
  readonly isStarted: boolean;
  /** How many turns are ahead of it in the lane. */
  readonly ahead: number;
}

/** Takes a place in the lane. The lane's row is locked from here to the commit. */
export function* enterLane(who: Entrant): Steps<Result<Entered>> {
  const { session, owner, slot, limits } = who;
  if (who.call.ancestors?.length) {
    const running = yield* first(RUNNING_IN, session);
    const name = running && runIdOf(running.id, running.number, running.attempt);
    if (name !== undefined && who.call.ancestors.includes(name)) return { ok: false, why: 'loop' };
  }
  if (limits.ownerWaiting > 0) {
    const tooMany = yield* first(WAITING_BEYOND, owner, limits.ownerWaiting - 1);
    if (tooMany) return { ok: false, why: 'owner-full' };
  }
  const made = slot && (yield* first(MAKE_HELD_LANE, session, who.agent, owner, slot.instance, who.agent));
  if (made) return { ok: true, value: { lane: { k: made.k, places: 1 }, isStarted: true, ahead: 0 } };
  const holder = slot && !(yield* first(IS_PAUSED, who.agent)) ? slot.instance : null;
  const lane = yield* first(ENTER_LANE, session, who.agent, owner, holder, holder, limits.laneWaiting);
  if (!lane) return { ok: false, why: 'full' };
  // `waiting` counts every turn that must wait, this one included. So 0 means that this turn has just started.
  const isStarted = holder !== null && lane.holder === holder && lane.waiting === 0;
  if (isStarted) return { ok: true, value: { lane, isStarted, ahead: 0 } };
  if (lane.holder === null && lane.waiting === 1 && lane.paused === 0) yield* makeReady(lane);
  const ahead = yield* first(TURNS_AHEAD, lane.k, lane.k, lane.places);
  return { ok: true, value: { lane, isStarted: false, ahead: ahead?.n ?? 0 } };
}

/**
 * The columns of a turn, in the order of the statements that write one: lane, place, owner, call, times, holder,
 * attempt.
 */
export const turnIn = (
  { lane, isStarted }: Entered,
  by: { readonly owner: string; readonly call: CallFacts; readonly at: Instant; readonly slot?: Slot },
): readonly Param[] => {
  const started = isStarted ? by.at : null;
  const holder = isStarted ? (by.slot?.instance ?? null) : null;
  return [lane.k, lane.places, by.owner, JSON.stringify(by.call), by.at, started, started, holder, isStarted ? 1 : 0];
};
