import type { EventClass } from '#domain';

/**
 * The kinds of followers: a closed list. `steps/followers/` has a file for each, with what it writes when it has handled
 * events. `probe` is there for the tests of every store; no service handles it.
 */
export type FollowerKind = 'webhook' | 'probe';

/** Somebody who must react to what happens to a subject: see `OutboxStore`. */
export interface NewFollower {
  readonly kind: FollowerKind;
  /** What the kind is to tell or to change, in its own words. One claim at a time is open for it. */
  readonly target: string;
  readonly events: EventClass;
}

/** Whose events are followed: a task, by the store's own key. */
export interface Subject {
  readonly type: 'task';
  readonly key: number;
}
