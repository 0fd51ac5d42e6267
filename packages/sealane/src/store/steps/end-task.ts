import type { NewEvent, State } from '#domain';

import type { Result } from '../result.ts';
import type { CancelRequest, Finished, Instant, Scope, TaskId } from '../task-store.ts';
import { commitEvents } from './commit-events.ts';
import { END_TASK, HEAD, LOCK_HEAD, TELL_RUN } from './heads.sql.ts';
import { LOCK_LANE, TURN, type TurnRow } from './lanes.sql.ts';
import { leaveLane } from './lanes.ts';
import { first, type Steps, wake } from './step.ts';
import { viewOfRow, visibleTask } from './task-view.ts';
import { type FactsRow, STATE_OF } from './tasks.sql.ts';

/** The end of an open task that is canceled, or removed. */
export const CANCELED: NewEvent = { kind: 'turn-ended', state: 'canceled', reason: 'canceled' };

/**
 * Cancels a task. A turn that waits, or a question that no run works on, ends in this step. A live run gets an intent,
 * and ends the task itself.
 */
export function* requestCancel(scope: Scope, id: TaskId, by: string, at: Instant): Steps<Result<CancelRequest>> {
  const row = yield* visibleTask(scope, id);
  if (!row) return { ok: false, why: 'absent' };
  const turn = yield* lockedTurn(row);
  if ((yield* first(HEAD, row.k))?.ended !== 0) return { ok: false, why: 'terminal' };
  if (!turn || turn.holder === null || turn.turn_ended === 1) {
    const ended = yield* endNow(row, turn, CANCELED, at);
    return ended.ok ? { ok: true, value: { ...ended.value, outcome: 'ended' } } : ended;
  }
  if (turn.cancel === 1) return { ok: true, value: { outcome: 'asked', events: [] } };
  const state = yield* stateOf(row);
  const asked = yield* commitEvents({
    task: row.k,
    from: state,
    events: [{ kind: 'cancel-requested', state, by }],
    at,
    fold: 'tail',
    advance: ({ task, count, length }) => first(TELL_RUN, count, length, 1, task),
  });
  if (!asked) return { ok: false, why: 'terminal' };
  yield* wake(row.id);
  return { ok: true, value: { outcome: 'asked', events: asked.events } };
}

/** Ends a task from outside its run. A held run stays held: only its runner knows when it is dead. */
export function* force(id: TaskId, from: readonly State[], event: NewEvent, at: Instant): Steps<Result<Finished>> {
  const row = yield* visibleTask('all', id);
  if (!row) return { ok: false, why: 'absent' };
  const turn = yield* lockedTurn(row);
  const head = yield* first(HEAD, row.k);
  if (!head || head.ended !== 0) return { ok: false, why: 'terminal' };
  if (!from.includes(yield* stateOf(row))) return { ok: false, why: 'conflict' };
  return yield* endNow(row, turn, event, at);
}

/** Reads the state under the lock of the head: a state that was read before the lock may be old. */
function* stateOf(row: FactsRow): Steps<State> {
  return ((yield* first(STATE_OF, row.k))?.status_state ?? row.status_state) as State;
}

/**
 * The task's turn, read after its lane and its head were locked. No other step claims or finishes it until this one
 * commits.
 */
export function* lockedTurn(row: FactsRow): Steps<TurnRow | undefined> {
  const seen = yield* first(TURN, row.k);
  if (seen) yield* first(LOCK_LANE, seen.lane);
  yield* first(LOCK_HEAD, row.k);
  return yield* first(TURN, row.k);
}

/** Ends an open task now. A turn that waits leaves its lane. The caller has locked the lane and the head. */
export function* endNow(
  row: FactsRow,
  turn: TurnRow | undefined,
  event: NewEvent,
  at: Instant,
): Steps<Result<Finished>> {
  const committed = yield* commitEvents({
    task: row.k,
    events: [event],
    at,
    fold: 'turn',
    advance: ({ task, count, length }) => first(END_TASK, count, length, task),
  });
  if (!committed?.row) return { ok: false, why: 'terminal' };
  if (turn && turn.holder === null) yield* leaveLane(turn);
  yield* wake(row.id);
  return { ok: true, value: { task: viewOfRow(committed.row), events: committed.events } };
}
