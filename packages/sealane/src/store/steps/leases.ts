import type { InstanceId, TaskId } from '../task-store.ts';
import type { Result } from '../result.ts';
import { BURY, INTERVENTIONS, MARK_LEFT, TAKE_LEASE } from './lanes.sql.ts';
import { all, first, type Steps, wake } from './step.ts';

/** The lease of an instance is one row. An expired lease stays expired, whatever its instance believes. */
export function* renew(instance: InstanceId, leaseMs: number): Steps<Result<null>> {
  return (yield* first(TAKE_LEASE, instance, leaseMs)) ? { ok: true, value: null } : { ok: false, why: 'lost' };
}

export function* leave(instance: InstanceId): Steps<void> {
  // Locks the instance before its runs, as a reaper does.
  if (yield* first(BURY, instance)) yield* first(MARK_LEFT, instance);
  yield* wake();
}

export function* interventions(instance: InstanceId): Steps<readonly TaskId[]> {
  return (yield* all(INTERVENTIONS, instance)).map((row) => row.id);
}
