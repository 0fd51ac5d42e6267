import type { EventClass } from '#domain';

/**
 * The kinds of followers: a closed list. Each has a file in `steps/followers/` that says what the kind writes when it
 * has handled events. `probe` is for the tests of every store; no service handles it.
 */
export type FollowerKind = 'webhook' | 'probe';

/** A follower to add. It must react to the events of a subject; see `OutboxStore`. */
export interface NewFollower {
  readonly kind: FollowerKind;
  /** What the kind tells or changes, in a format of its own. At most one claim is open for a target. */
  readonly target: string;
  readonly events: EventClass;
}

/** The task whose events are followed, by the store's own key. */
export interface Subject {
  readonly type: 'task';
  readonly key: number;
}
