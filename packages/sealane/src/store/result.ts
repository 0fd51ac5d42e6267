import type { RefusedCondition } from './condition.ts';

/** An ordinary outcome is a value. Only bugs and failures of the store are thrown. */
export type Result<T> = { readonly ok: true; readonly value: T } | Refused;

export type Refused = { readonly ok: false; readonly why: Refusal } | RefusedCondition;

/**
 * - `absent`: this scope has no such task (another may have it)
 * - `lost`: the run's lease is gone, or the claim is void; nothing was written
 * - `terminal`: the task has ended; nothing was written
 * - `canceled`: a cancel was asked for before this end; the turn can only end as canceled
 * - `full`: the lane has its maximum of waiting turns
 * - `owner-full`: the owner has their maximum of waiting turns
 * - `busy`: a turn of this task is already waiting or running
 * - `conflict`: the idempotency key was used with another body, the id is taken, or the task is not as the caller
 *   expects
 * - `push-full`: the task has its maximum of webhooks
 * - `task-full`: the task has its maximum size
 * - `loop`: the turn would wait for a run that waits for it
 * - `unfinished`: the turn of the run has no end in the log: `finish` it, or name the time of a retry
 */
export type Refusal =
  | 'absent'
  | 'lost'
  | 'terminal'
  | 'canceled'
  | 'full'
  | 'owner-full'
  | 'busy'
  | 'conflict'
  | 'push-full'
  | 'task-full'
  | 'loop'
  | 'unfinished';
