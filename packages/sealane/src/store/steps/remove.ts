import type { Result } from '../result.ts';
import type { Instant, Removed, Scope, TaskId } from '../task-store.ts';
import { CANCELED, endNow, lockedTurn } from './end-task.ts';
import { DELETE_EVENTS } from './events.sql.ts';
import { DELETE_HEAD, HEAD } from './heads.sql.ts';
import { DROP_FOLLOWERS_OF, OWED_OF } from './outbox.sql.ts';
import { first, type Steps, wake } from './step.ts';
import { visibleTask } from './task-view.ts';
import { DELETE_IDEMPOTENCY, DELETE_TASK, FACTS_BY_KEY, HIDE_TASK } from './tasks.sql.ts';
import { DELETE_WEBHOOKS } from './webhooks.sql.ts';

/**
 * Deletes a task that no run holds. An open task is canceled first. A task that was canceled here, or about which
 * something is owed, is only hidden: its id is free, and the janitor deletes its rows when nothing is owed any more.
 */
export function* remove(scope: Scope, id: TaskId, at: Instant): Steps<Result<Removed>> {
  const row = yield* visibleTask(scope, id);
  if (!row) return { ok: false, why: 'absent' };
  const turn = yield* lockedTurn(row);
  // Another call may have removed the task between the look and the lock.
  if ((yield* first(FACTS_BY_KEY, row.k))?.removed_id !== null) return { ok: false, why: 'absent' };
  if (turn && turn.holder !== null) return { ok: false, why: 'busy' };
  const isOpen = (yield* first(HEAD, row.k))?.ended === 0;
  const canceled = isOpen ? yield* endNow(row, turn, CANCELED, at) : undefined;
  const ended = canceled?.ok ? canceled.value : undefined;
  yield* first(DELETE_IDEMPOTENCY, row.id);
  // Readers on other instances learn of the end from the log, so the log must stay for a while.
  if (ended || (yield* first(OWED_OF, 'task', row.k))) yield* first(HIDE_TASK, row.k);
  else yield* deleteTask(row.k, row.id);
  yield* wake(row.id);
  return { ok: true, value: ended ? { ended } : {} };
}

/**
 * Deletes the head first. A step that is writing events holds the lock of the head, so the statements after it see what
 * that step wrote.
 */
export function* deleteTask(task: number, id: TaskId): Steps<void> {
  yield* first(DELETE_HEAD, task);
  yield* first(DELETE_EVENTS, task);
  yield* first(DELETE_WEBHOOKS, task);
  yield* first(DROP_FOLLOWERS_OF, 'task', task);
  yield* first(DELETE_IDEMPOTENCY, id);
  yield* first(DELETE_TASK, task);
}
