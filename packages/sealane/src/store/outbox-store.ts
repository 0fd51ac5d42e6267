import type { Event, Seq } from '#domain';

import type { FollowerKind, NewFollower, Subject } from './follower.ts';
import type { Result } from './result.ts';
import type { Admission, Admitted, InstanceId, Scope, StoredTask, TaskId } from './task-store.ts';

/** What each kind of follower writes, in the step that records that events were handled. */
export interface FollowerEffects {
  /** The outcome of the last delivery. */
  readonly webhook: { readonly status: 'active' | 'failed' };
  /** Adds to the amount of the target, and may admit a task. */
  readonly probe: { readonly add: number; readonly admit?: Admission };
}

/** What the store answers to an effect. */
export interface FollowerAnswers {
  readonly webhook: null;
  readonly probe: { readonly amount: number; readonly admitted?: Admitted };
}

/** Names a claim to the store. A later claim of the same target makes it void. Only the store interprets `k`. */
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
  /**
   * The first and the last event that are owed. `firstSeq > lastSeq`: no event is owed, and the follower asked for this
   * call.
   */
  readonly firstSeq: Seq;
  readonly lastSeq: Seq;
  /** How many calls have handled nothing since the follower last handled an event. */
  readonly attempts: number;
}

/** Everything that was due for one target, of all its subjects. The claiming instance holds it. */
export interface Owed<K extends FollowerKind = FollowerKind> {
  readonly claim: OwedClaim<K>;
  readonly ranges: readonly OwedRange[];
}

/** The result for one range of the claim. A range without a result stays claimed. */
export interface Handled {
  readonly follower: number;
  /** The follower has handled everything up to this event. */
  readonly upTo?: Seq;
  /** The range leaves the claim and is due again after this time, even if nothing is owed. */
  readonly againAfterMs?: number;
}

export interface Advanced<K extends FollowerKind> {
  /** What is owed now under the same claim. Undefined: nothing is left, and the claim is closed. */
  readonly owed: Owed<K> | undefined;
  /** The store's answer to the effect. Undefined without an effect. */
  readonly answer: FollowerAnswers[K] | undefined;
}

/** Events that are owed to a follower, with the ids that it needs to handle them. */
export interface OwedEvents {
  readonly events: readonly Event[];
  /** A follower that has handled these events has handled everything up to this number. */
  readonly upTo: Seq;
  readonly taskId: TaskId;
  readonly contextId: string;
}

/**
 * The outbox: what each follower has not handled yet. It is written in the same commit as the events. The store
 * promises:
 *
 * - every event of the class that a follower asks for is owed to it from the commit that wrote the event, and no event
 *   that was not committed; a follower is owed what comes after it was added;
 * - at most one claim per kind and target is open. It has what is due for the target from all its subjects, and each
 *   range begins with its first event, so a follower handles events in order;
 * - what an effect writes and that its events were handled is one commit, so inside the store nothing is done twice or
 *   lost. What a follower does outside comes before that commit, so an outside receiver hears of each event at least
 *   once and may hear of it twice;
 * - a claim ends when its ranges were handled or given back, when its lease is over, or with the lease of its instance;
 * - nothing is owed about a task that is gone, and no task is expired, purged or gone while something is owed about it.
 */
export interface OutboxStore {
  /**
   * Follows a task from now on. A follower of the task that has the same kind and target gets the new class of events,
   * and keeps what it is owed.
   */
  follow(scope: Scope, id: TaskId, follower: NewFollower): Promise<Result<null>>;
  unfollow(scope: Scope, id: TaskId, follower: Pick<NewFollower, 'kind' | 'target'>): Promise<Result<null>>;
  /** Takes what is due for at most `limit` targets, the longest due first. */
  claim<K extends FollowerKind>(request: {
    readonly kind: K;
    readonly instance: InstanceId;
    readonly limit: number;
    readonly leaseMs: number;
  }): Promise<readonly Owed<K>[]>;
  /** The events that are owed to a follower, from number `from` on. Only events of its class. */
  read(follower: number, from: Seq, limit: number): Promise<OwedEvents | undefined>;
  /** The task that a follower follows, also when it was removed. By its key: its id may belong to another task now. */
  task(follower: number): Promise<StoredTask | undefined>;
  /** The log of that task after a number. */
  log(follower: number, after: Seq, limit: number): Promise<readonly Event[]>;
  /**
   * Records what was handled and writes the effect of the kind, in one step. The claim holds for another `leaseMs`.
   * `lost`: the claim is void, and nothing was written. If the steps of the effect refuse, the caller gets their
   * refusal.
   */
  advance<K extends FollowerKind>(
    claim: OwedClaim<K>,
    handled: readonly Handled[],
    leaseMs: number,
    effect?: FollowerEffects[K],
  ): Promise<Result<Advanced<K>>>;
  /**
   * Calls the listener after commits of this instance that owe a follower something. A call is only a hint, and hints
   * may be lost.
   */
  onOwed(listener: () => void): Disposable;
}
