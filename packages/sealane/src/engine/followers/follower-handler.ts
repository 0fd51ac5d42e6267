import type { FollowerEffects, FollowerKind, Handled, Owed } from '#store';

/** How the loop treats a kind of follower. */
export interface FollowerPace {
  /** The slow look behind hints that may be lost, for retries that are due, and for claims of dead instances. */
  readonly pollMs: number;
  /** Targets that are handled at the same time; those that take longer than `slowMs` do not count, up to `mostAtOnce`. */
  readonly atOnce: number;
  readonly mostAtOnce: number;
  readonly slowMs: number;
  /** How long a claim holds without a sign of life; longer than handling a few events may take. */
  readonly leaseMs: number;
  /** How long what is in flight may go on when the service stops. */
  readonly graceMs: number;
}

export interface HandlerIo {
  /** Aborts when the service stops and the grace period is over: what is not handled by then stays owed. */
  readonly signal: AbortSignal;
  /** Retries while the store cannot be reached, within the lease. Nothing that was done outside is done again for it. */
  readonly patiently: <T>(attempt: () => Promise<T>) => Promise<T>;
}

/** What became of a claim, and what the store writes about it in the same step. */
export interface HandledClaim<K extends FollowerKind> {
  readonly handled: readonly Handled[];
  readonly effect?: FollowerEffects[K];
}

/**
 * What a kind does outside the store when events are owed to a follower. It handles some of them, the first ones first,
 * and is called again until nothing is left. The store is told afterwards, so an event may be handled twice after a
 * crash; what it sends carries ids by which a receiver recognises a repeat.
 */
export interface FollowerHandler<K extends FollowerKind = FollowerKind> {
  readonly kind: K;
  readonly pace: FollowerPace;
  handle(owed: Owed<K>, io: HandlerIo): Promise<HandledClaim<K>>;
  onProblem(what: string, error: unknown): void;
  close?(): void;
}
