import type { Event, Seq } from '#domain';

import type { FollowerKind, NewFollower, Subject } from './follower.ts';
import type { Result } from './result.ts';
import type { Admission, Admitted, InstanceId, Scope, TaskId } from './task-store.ts';

/** What each kind writes, in the step that says that events were handled. */
export interface FollowerEffects {
  /** What became of the last delivery. */
  readonly webhook: { readonly status: 'active' | 'failed' };
  /** Adds to the amount of the target, and admits a task. */
  readonly probe: { readonly add: number; readonly admit?: Admission };
}

/** What the store answers to an effect. */
export interface FollowerAnswers {
  readonly webhook: null;
  readonly probe: { readonly amount: number; readonly admitted?: Admitted };
}

/** Names a claim to the store: a later claim makes it void. Opaque to everybody else. */
export interface OwedClaim<K extends FollowerKind = FollowerKind> {
  readonly kind: K;
  readonly target: string;
  readonly k: number;
  /** How often the claim was advanced: an advance that was done is not done again. */
  readonly advances: number;
}

/** What one follower of the claim has not handled yet. */
export interface OwedRange {
  /** Names the follower to the store. */
  readonly follower: number;
  readonly subject: Subject;
  /** From the first to the last event that it is owed; no event where `firstSeq > lastSeq`: it asked to be called again. */
  readonly firstSeq: Seq;
  readonly lastSeq: Seq;
  /** How often it has been called in vain since it last handled an event. */
  readonly attempts: number;
}

/** All that was due for one target, of all its subjects, in the hands of the instance that claimed it. */
export interface Owed<K extends FollowerKind = FollowerKind> {
  readonly claim: OwedClaim<K>;
  readonly ranges: readonly OwedRange[];
}

/** What became of one range of the claim. A range that is not named stays claimed. */
export interface Handled {
  readonly follower: number;
  /** Everything up to this event was handled. */
  readonly upTo?: Seq;
  /** The range leaves the claim, and is due again after that time, also when it is owed nothing. */
  readonly againAfterMs?: number;
}

export interface Advanced<K extends FollowerKind> {
  /** What is owed by now under the same claim; undefined when there is no more, and the claim is over. */
  readonly owed: Owed<K> | undefined;
  /** What the store answers to the effect; undefined without one. */
  readonly answer: FollowerAnswers[K] | undefined;
}

/** Events that a follower is owed, with what it takes to understand them. */
export interface OwedEvents {
  readonly events: readonly Event[];
  /** Whoever has handled these has handled everything up to here. */
  readonly upTo: Seq;
  readonly taskId: TaskId;
  readonly contextId: string;
}

/**
 * The outbox: what each follower has not handled yet, written in the same commit as the events it is about. The promises
 * of the store:
 *
 * - every event of the class that a follower asks for is owed to it from the commit that wrote the event, and no event
 *   that was not committed; a follower is owed what comes after it was added;
 * - at most one claim per kind and target is open, with what is due for the target from all its subjects, and each range
 *   begins with its first event: so order holds;
 * - what an effect writes and that its events were handled is one commit: nothing inside the store is done twice or
 *   lost. What a follower does outside comes before, so the world may hear of an event twice, and of each at least once;
 * - a claim ends when its ranges were handled or given back, when its lease is over, or with the lease of its instance;
 * - nothing is owed about a task that is gone, and no task is expired, purged or gone while something is owed about it.
 */
export interface OutboxStore {
  /** Follows a task from now on; another follower of the same kind and target is replaced. */
  follow(scope: Scope, id: TaskId, follower: NewFollower): Promise<Result<null>>;
  unfollow(scope: Scope, id: TaskId, follower: Pick<NewFollower, 'kind' | 'target'>): Promise<Result<null>>;
  /** Takes what is due, the longest due targets first, at most `limit` of them. */
  claim<K extends FollowerKind>(request: {
    readonly kind: K;
    readonly instance: InstanceId;
    readonly limit: number;
    readonly leaseMs: number;
  }): Promise<readonly Owed<K>[]>;
  /** Events of a follower from number `from` on, those of its class alone. */
  read(follower: number, from: Seq, limit: number): Promise<OwedEvents | undefined>;
  /**
   * Says what was handled and writes what the kind makes of it, in one step; the claim holds for another `leaseMs`.
   * `lost`: the claim is void, and nothing was written. What the effect's own steps refuse is answered as it is.
   */
  advance<K extends FollowerKind>(
    claim: OwedClaim<K>,
    handled: readonly Handled[],
    leaseMs: number,
    effect?: FollowerEffects[K],
  ): Promise<Result<Advanced<K>>>;
  /** Called after commits of this instance that owe somebody something. A hint; may be lost. */
  onOwed(listener: () => void): Disposable;
}
