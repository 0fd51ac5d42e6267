import type { NewFollower } from '../follower.ts';
import type { Result } from '../result.ts';
import type { Scope, TaskId } from '../task-store.ts';
import { ADD_FOLLOWER, DROP_FOLLOWER, SET_FOLLOWS } from './outbox.sql.ts';
import { CLASS_BITS } from './owe.ts';
import { first, type Steps } from './step.ts';
import { lockedTask } from './task-view.ts';

export function* followTask(scope: Scope, id: TaskId, follower: NewFollower): Steps<Result<null>> {
  const row = yield* lockedTask(scope, id);
  if (!row) return { ok: false, why: 'absent' };
  yield* addFollower(row.k, follower);
  return { ok: true, value: null };
}

export function* unfollowTask(
  scope: Scope,
  id: TaskId,
  follower: Pick<NewFollower, 'kind' | 'target'>,
): Steps<Result<null>> {
  const row = yield* lockedTask(scope, id);
  if (!row) return { ok: false, why: 'absent' };
  yield* dropFollower(row.k, follower);
  return { ok: true, value: null };
}

/** The caller has locked the head of the task, so no other step writes an event that the new follower would miss. */
export function* addFollower(task: number, { kind, target, events }: NewFollower): Steps<void> {
  yield* first(ADD_FOLLOWER, kind, target, 'task', task, CLASS_BITS[events]);
  yield* first(SET_FOLLOWS, task);
}

export function* dropFollower(task: number, { kind, target }: Pick<NewFollower, 'kind' | 'target'>): Steps<void> {
  yield* first(DROP_FOLLOWER, 'task', task, kind, target);
  yield* first(SET_FOLLOWS, task);
}
