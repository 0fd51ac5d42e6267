import type { FollowerEffects, FollowerKind, Handled, Owed } from '#store';

/** How fast, and for how long, the loop works for a kind of follower. */
export interface FollowerPace {
  /** The interval of polls: a fallback for lost hints, for retries that are due, and for claims of dead instances. */
  readonly pollMs: number;
  /**
   * How many targets are handled at the same time. Targets that take longer than `slowMs` do not count, up to
   * `mostAtOnce`.
   */
  readonly atOnce: number;
  readonly mostAtOnce: number;
  readonly slowMs: number;
  /** How long a claim holds without a renewal. It must be longer than handling a few events may take. */
  readonly leaseMs: number;
  /** How long handlers in flight may continue when the service stops. */
  readonly graceMs: number;
}

export interface HandlerIo {
  /** Aborts when the service stops and the grace period is over. What is not handled by then stays owed. */
  readonly signal: AbortSignal;
  /** Retries while the store is unreachable, within the lease. It never repeats what was done outside of the store. */
  readonly patiently: <T>(attempt: () => Promise<T>) => Promise<T>;
}

/** The result of a claim, and what the store writes about it in the same step. */
export interface HandledClaim<K extends FollowerKind> {
  readonly handled: readonly Handled[];
  readonly effect?: FollowerEffects[K];
}

/**
 * What a kind of follower does outside the store. It handles some of the owed events, the first ones first, and is
 * called again until nothing is left. The store records the result afterwards, so an event may be handled twice after a
 * crash. What a handler sends carries ids by which a receiver recognises a repeat.
 */
export interface FollowerHandler<K extends FollowerKind = FollowerKind> {
  readonly kind: K;
  readonly pace: FollowerPace;
  handle(owed: Owed<K>, io: HandlerIo): Promise<HandledClaim<K>>;
  onProblem(what: string, error: unknown): void;
  close?(): void;
}
