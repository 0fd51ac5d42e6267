import type { JsonObject, NewEvent, Seq } from '#domain';

import type { Instant, Result, RunToken, StoredTask } from '../task-store.ts';
import { insertEvents, insertTurnEvents, inWords, numbered } from './event-log.ts';
import { LOCK_LANE, RETRY_LANE, TURN } from './lanes.sql.ts';
import { makeReady, releaseLane } from './lanes.ts';
import { first, type Steps, wake } from './step.ts';
import { endsTask, foldLongTail, foldLongTask, reloadTask, setStatus } from './task-row.ts';
import {
  ADVANCE_RUN,
  END_RUN,
  END_TURN,
  HEAD,
  LOCK_HEAD,
  RELEASE_TURN,
  RETRY_TURN,
  SET_TURN_REF,
} from './tasks.sql.ts';

/** What a run reports while it works. Touches the task's row only when its status changes. */
export function* append(run: RunToken, events: readonly NewEvent[], at: Instant): Steps<Result<{ readonly seq: Seq }>> {
  const { texts, length } = inWords(events);
  const head = yield* first(ADVANCE_RUN, events.length, length, run.task, run.epoch);
  if (!head) return yield* refused(run);
  const { rows, committed } = numbered(run.task, head.seq - events.length + 1, events, at, texts);
  yield* insertEvents(head, rows);
  yield* setStatus(run.task, 'working', committed);
  yield* foldLongTail(run.task, head);
  yield* wake(run.taskId);
  return { ok: true, value: { seq: head.seq } };
}

/** The fence let nothing through: somebody else has the run, or the task has ended without it. */
function* refused(run: RunToken): Steps<{ ok: false; why: 'lost' | 'terminal' | 'canceled' }> {
  const head = yield* first(HEAD, run.task);
  if (head?.epoch !== run.epoch) return { ok: false, why: 'lost' };
  return { ok: false, why: head.ended === 1 ? 'terminal' : 'canceled' };
}

const answersCancel = (events: readonly NewEvent[]): boolean =>
  events.some((event) => event.kind === 'turn-ended' && event.state === 'canceled');

/** True while the run's epoch is the current one; its head is locked until the commit. */
function* isHeld(run: RunToken): Steps<boolean> {
  yield* first(LOCK_HEAD, run.task);
  return (yield* first(HEAD, run.task))?.epoch === run.epoch;
}

export function* remember(run: RunToken, ref: JsonObject): Steps<Result<null>> {
  const remembered = yield* first(SET_TURN_REF, JSON.stringify(ref), run.task, run.epoch);
  return remembered ? { ok: true, value: null } : { ok: false, why: 'lost' };
}

/** The turn's last events; with `release` the lane goes on in the same step. */
export function* finish(
  run: RunToken,
  events: readonly NewEvent[],
  at: Instant,
  release: boolean,
): Steps<Result<{ readonly seq: Seq; readonly task: StoredTask }>> {
  yield* first(LOCK_LANE, run.lane);
  const { texts, length } = inWords(events);
  const end = [events.length, length, endsTask(events) ? 1 : 0, run.task, run.epoch] as const;
  const head = yield* first(release ? END_TURN : END_RUN, ...end, answersCancel(events) ? 1 : 0);
  if (!head) return yield* refused(run);
  const { rows, committed } = numbered(run.task, head.seq - events.length + 1, events, at, texts);
  yield* insertTurnEvents(head, rows);
  yield* setStatus(run.task, 'working', committed);
  yield* foldLongTask(run.task, head);
  const task = yield* reloadTask(run.task);
  if (release) yield* releaseLane(run.lane);
  yield* wake(run.taskId);
  return { ok: true, value: { seq: head.seq, task } };
}

/** The run is dead: its lane goes on, or its turn goes back to the head of the lane for another attempt. */
export function* release(run: RunToken, at: Instant, retryAt?: Instant | null): Steps<Result<null>> {
  yield* first(LOCK_LANE, run.lane);
  if (!(yield* isHeld(run))) return { ok: false, why: 'lost' };
  // Released before, by a call whose answer was lost: the lane belongs to somebody else by now.
  if (!(yield* first(TURN, run.task))) return { ok: true, value: null };
  if (retryAt === undefined || retryAt === null) {
    yield* first(RELEASE_TURN, run.task);
    yield* releaseLane(run.lane);
    return { ok: true, value: null };
  }
  const head = yield* first(HEAD, run.task);
  if (head?.ended === 1) return { ok: false, why: 'terminal' };
  if (head?.cancel === 1) return { ok: false, why: 'canceled' };
  yield* first(RETRY_TURN, run.task);
  const lane = yield* first(RETRY_LANE, Math.max(retryAt, at), run.lane);
  if (lane) yield* makeReady(lane);
  return { ok: true, value: null };
}
