import type { JsonObject } from '#domain';

import type { Result } from '../result.ts';
import type { Instant, RunToken } from '../task-store.ts';
import { HEAD, LOCK_HEAD, RELEASE_TURN, RETRY_TURN, SET_TURN_REF } from './heads.sql.ts';
import { LOCK_LANE, RETRY_LANE, TURN } from './lanes.sql.ts';
import { makeReady, releaseLane } from './lanes.ts';
import { first, type Steps } from './step.ts';

export function* remember(run: RunToken, ref: JsonObject): Steps<Result<null>> {
  const remembered = yield* first(SET_TURN_REF, JSON.stringify(ref), run.task, run.epoch);
  return remembered ? { ok: true, value: null } : { ok: false, why: 'lost' };
}

/** The run is dead. Frees its lane, or puts its turn back at the head of the lane for a retry. */
export function* release(
  run: RunToken,
  at: Instant,
  retryAt?: Instant | null,
  isDrain?: boolean | null,
): Steps<Result<null>> {
  yield* first(LOCK_LANE, run.lane);
  yield* first(LOCK_HEAD, run.task);
  const head = yield* first(HEAD, run.task);
  if (head?.epoch !== run.epoch) return { ok: false, why: 'lost' };
  const turn = yield* first(TURN, run.task);
  // An earlier call released the run, but its answer was lost. The lane belongs to another turn by now.
  if (!turn) return { ok: true, value: null };
  if (retryAt === undefined || retryAt === null) {
    // No instance would ever find a turn that has neither an end nor a run.
    if (turn.turn_ended !== 1) return { ok: false, why: 'unfinished' };
    yield* first(RELEASE_TURN, run.task);
    yield* releaseLane(run.lane);
    return { ok: true, value: null };
  }
  if (head.ended === 1) return { ok: false, why: 'terminal' };
  if (head.cancel === 1) return { ok: false, why: 'canceled' };
  yield* first(RETRY_TURN, isDrain ? 1 : 0, run.task);
  const lane = yield* first(RETRY_LANE, Math.max(retryAt, at), run.lane);
  if (lane) yield* makeReady(lane);
  return { ok: true, value: null };
}
