import type { InstanceId, TaskId } from '../task-store.ts';
import type { Result } from '../result.ts';
import { BURY, INTERVENTIONS, MARK_LEFT, TAKE_LEASE } from './lanes.sql.ts';
import { all, first, type Steps, wake } from './step.ts';

/** One row per instance is its lease; an expired one stays expired, whatever its owner believes. */
export function* renew(instance: InstanceId, leaseMs: number): Steps<Result<null>> {
  return (yield* first(TAKE_LEASE, instance, leaseMs)) ? { ok: true, value: null } : { ok: false, why: 'lost' };
}

export function* leave(instance: InstanceId): Steps<void> {
  // The instance first: a reaper that is at work on its runs has locked it before them.
  if (yield* first(BURY, instance)) yield* first(MARK_LEFT, instance);
  yield* wake();
}

export function* interventions(instance: InstanceId): Steps<readonly TaskId[]> {
  return (yield* all(INTERVENTIONS, instance)).map((row) => row.id);
}
