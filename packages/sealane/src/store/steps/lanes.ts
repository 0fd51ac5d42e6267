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

/** Gives a lane that has just become ready its fair rank among the ready lanes, and wakes the dispatchers. */
export function* makeReady(lane: LaneRow): Steps<void> {
  const rank = yield* first(NEXT_RANK, lane.agent, lane.agent, lane.owner);
  yield* first(SET_RANK, 1 + Math.max(rank?.lowest ?? 0, rank?.own ?? 0), lane.k);
  yield* wake();
}

/** Frees a lane whose turn is over, and deletes it if it is empty. The caller has locked the lane. */
export function* releaseLane(lane: number): Steps<void> {
  if (yield* first(DROP_IDLE_LANE, lane)) return;
  const freed = yield* first(FREE_LANE, lane);
  if (freed && freed.waiting > 0 && freed.paused === 0) yield* makeReady(freed);
}

/** Takes a turn that no run holds out of its lane. The caller has locked the lane. */
export function* leaveLane({ lane, task, attempt }: TurnRow): Steps<void> {
  yield* first(CLEAR_TURN, task);
  // Only the first turn of a lane can have been tried before. The time of its retry leaves the lane with it.
  const wasRetry = attempt > 0;
  const left = yield* first(LEAVE_LANE, wasRetry ? 0 : 1, lane);
  if (left && left.waiting === 0) yield* first(DROP_EMPTY_LANE, lane);
  else if (left && wasRetry && left.paused === 0) yield* makeReady(left);
}
