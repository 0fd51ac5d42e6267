import type { NewEvent, State } from '#domain';

import type { CancelRequest, Finished, Instant, Result, Scope, TaskId } from '../task-store.ts';
import { LOCK_LANE, TURN, type TurnRow } from './lanes.sql.ts';
import { leaveLane } from './lanes.ts';
import { first, type Steps, wake } from './step.ts';
import { appendFromOutside, foldLongTask, loadTask, reloadTask, setStatus, visibleTask } from './task-row.ts';
import { HEAD, LOCK_HEAD, SET_CANCEL, SET_TURN_ENDED, type TaskRow } from './tasks.sql.ts';

/** A turn that waits, or a question that nobody works on, ends here and now; a run is told and ends itself. */
export function* requestCancel(scope: Scope, id: TaskId, by: string, at: Instant): Steps<Result<CancelRequest>> {
  const row = yield* visibleTask(scope, id);
  if (!row) return { ok: false, why: 'absent' };
  const turn = yield* lockedTurn(row);
  if ((yield* first(HEAD, row.k))?.ended !== 0) return { ok: false, why: 'terminal' };
  if (turn && turn.holder !== null && turn.turn_ended === 0) {
    if (turn.cancel === 1) return { ok: true, value: { task: yield* loadTask(row), events: [], outcome: 'asked' } };
    const state = (yield* reloadTask(row.k)).state;
    const asked = yield* appendFromOutside(row.k, { kind: 'cancel-requested', state, by }, at);
    if (!asked) return { ok: false, why: 'terminal' };
    yield* setStatus(row.k, state, asked.committed);
    yield* first(SET_CANCEL, row.k);
    yield* wake(row.id);
    return { ok: true, value: { task: yield* reloadTask(row.k), events: asked.committed, outcome: 'asked' } };
  }
  const ended = yield* endNow(row, turn, { kind: 'turn-ended', state: 'canceled', reason: 'canceled' }, at);
  return ended.ok ? { ok: true, value: { ...ended.value, outcome: 'ended' } } : ended;
}

/** Ends a task from outside its run. A held run stays held: only its runner knows when it is dead. */
export function* force(id: TaskId, from: readonly State[], event: NewEvent, at: Instant): Steps<Result<Finished>> {
  const row = yield* visibleTask('all', id);
  if (!row) return { ok: false, why: 'absent' };
  const turn = yield* lockedTurn(row);
  const head = yield* first(HEAD, row.k);
  if (!head || head.ended !== 0) return { ok: false, why: 'terminal' };
  if (!from.includes((yield* reloadTask(row.k)).state)) return { ok: false, why: 'conflict' };
  return yield* endNow(row, turn, event, at);
}

/** The task's turn, read after its lane and its head were locked: nobody claims or finishes it until we commit. */
function* lockedTurn(row: TaskRow): Steps<TurnRow | undefined> {
  const seen = yield* first(TURN, row.k);
  if (seen) yield* first(LOCK_LANE, seen.lane);
  yield* first(LOCK_HEAD, row.k);
  return yield* first(TURN, row.k);
}

function* endNow(row: TaskRow, turn: TurnRow | undefined, event: NewEvent, at: Instant): Steps<Result<Finished>> {
  const ended = yield* appendFromOutside(row.k, event, at);
  if (!ended) return { ok: false, why: 'terminal' };
  const { head, committed } = ended;
  yield* setStatus(row.k, row.status_state as State, committed);
  yield* foldLongTask(row.k, head);
  const task = yield* reloadTask(row.k);
  if (turn && turn.holder === null) yield* leaveLane(turn);
  else if (turn) yield* first(SET_TURN_ENDED, row.k);
  yield* wake(row.id);
  return { ok: true, value: { task, events: committed } };
}
