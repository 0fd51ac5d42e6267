import { CLEAR_TURN } from './heads.sql.ts';
import {
  DROP_EMPTY_LANE,
  DROP_IDLE_LANE,
  FREE_LANE,
  type LaneRow,
  LEAVE_LANE,
  NEXT_RANK,
  SET_RANK,
  type TurnRow,
} from './lanes.sql.ts';
import { first, type Steps, wake } from './step.ts';

/** Gives a lane that has just become ready its fair place among the ready ones, and tells the dispatchers. */
export function* makeReady(lane: LaneRow): Steps<void> {
  const rank = yield* first(NEXT_RANK, lane.agent, lane.agent, lane.owner);
  yield* first(SET_RANK, 1 + Math.max(rank?.lowest ?? 0, rank?.own ?? 0), lane.k);
  yield* wake();
}

/** The turn that held it is over: the lane goes on, or ceases to exist with nothing in it. It must be locked. */
export function* releaseLane(lane: number): Steps<void> {
  if (yield* first(DROP_IDLE_LANE, lane)) return;
  const freed = yield* first(FREE_LANE, lane);
  if (freed && freed.waiting > 0 && freed.paused === 0) yield* makeReady(freed);
}

/** A turn that nobody holds leaves its lane. The lane must be locked. */
export function* leaveLane({ lane, task, attempt }: TurnRow): Steps<void> {
  yield* first(CLEAR_TURN, task);
  // Only the head has been tried before; the time of its retry leaves the lane with it.
  const wasRetry = attempt > 0;
  const left = yield* first(LEAVE_LANE, wasRetry ? 0 : 1, lane);
  if (left && left.waiting === 0) yield* first(DROP_EMPTY_LANE, lane);
  else if (left && wasRetry && left.paused === 0) yield* makeReady(left);
}
