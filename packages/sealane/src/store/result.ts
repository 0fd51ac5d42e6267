import type { RefusedCondition } from './condition.ts';

/** An ordinary outcome is a value; only what nobody expects is thrown. */
export type Result<T> = { readonly ok: true; readonly value: T } | Refused;

export type Refused = { readonly ok: false; readonly why: Refusal } | RefusedCondition;

/**
 * - `absent`: no such task in this scope (it may exist in another)
 * - `lost`: the run's lease is gone, or the claim is void; nothing was written
 * - `terminal`: the task has ended; nothing was written
 * - `canceled`: a cancel was asked for before this end; the turn can only end as canceled
 * - `full`: the lane holds as many waiting turns as it may
 * - `owner-full`: the owner has as many waiting turns as it may
 * - `busy`: a turn of this task is already waiting or running
 * - `conflict`: the idempotency key was used with another body, or the id is taken
 * - `push-full`: the task has as many webhooks as it may
 * - `task-full`: the task is as large as it may be
 * - `loop`: the turn would wait for a run that waits for it
 * - `unfinished`: the turn of the run has no end in the log: `finish` it, or say when to try again
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
