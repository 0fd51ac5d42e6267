import type { Protocol } from './variants.ts';

/**
 * How an instance stands. It is `awake` until its fault, if it has one:
 * - `crash`: it is `dead`, and the server rolls its open transactions back at some later time;
 * - `cut off`: it aborts its runs in time, before its lease ends, and is `stopped`; but what it has already sent may
 *   still be carried out;
 * - `pause`: a zombie. It takes itself for alive, and whatever it does next may reach the database at any later time.
 *   It is `overdue` once its lease has run out. The answer to its next renewal tells it whether to stop.
 * - `unanswered …`: a commit is carried out and its answer is lost, while the instance goes on.
 *
 * The lease of an instance that is awake never runs out: to abort one's runs before that is to be cut off.
 */
export type Mind = 'awake' | 'paused' | 'overdue' | 'stopped' | 'dead';
export type Fault = 'crash' | 'cut off' | 'pause' | 'unanswered claim' | 'unanswered finish';
export type Role = 'worker' | 'reaper' | 'heartbeat' | 'caller';

export interface Scenario {
  readonly protocol: Protocol;
  /** The tasks of each lane, in their order. */
  readonly lanes: Readonly<Record<string, readonly string[]>>;
  /** One connection each; together they make the instances. */
  readonly sessions: readonly { readonly instance: string; readonly role: Role }[];
  /** What may happen to an instance, once. */
  readonly faults: Readonly<Record<string, readonly Fault[]>>;
  /** Tasks that somebody asks to cancel, one after another, each at any time. */
  readonly cancels: readonly string[];
  /** Whether a paused instance's own clock goes on, so that it knows a renewal answered too late for a loss. */
  readonly clock: 'counts' | 'stands still';
  /** What an instance does that misses an answer: it stops as if cut off, or takes it for a rollback. */
  readonly unanswered: 'stops' | 'tries again';
}
