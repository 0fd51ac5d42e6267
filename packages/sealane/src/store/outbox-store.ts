import type { Seq } from '#domain';

import type { PushConfigRecord } from './storage.ts';
import type { TaskId } from './task-store.ts';

/** What a webhook has not been told yet, in the hands of the one who claimed it. */
export interface Owed {
  readonly claim: OwedClaim;
  readonly contextId: string;
  readonly webhook: PushConfigRecord;
  readonly firstSeq: Seq;
  readonly lastSeq: Seq;
  /** How often it has failed since it last got on. */
  readonly attempts: number;
}

/** Names a claim to the store: whoever claims after it makes it void. Opaque to everybody else. */
export interface OwedClaim {
  readonly taskId: TaskId;
  readonly k: number;
  readonly claims: number;
}

/**
 * The outbox: what is promised to others in the same commit as the events it is about. The promises of the store:
 *
 * - every event of a task that has a webhook is owed to it from the commit that wrote the event, and no event that was
 *   not committed; a webhook is owed what comes after it was saved;
 * - what is owed to one webhook is claimed by one at a time and always from its first event on, so its order holds;
 * - a claim ends with `done`, with `failed`, or by itself when its time is up, and is then claimed again: everything is
 *   told at least once;
 * - nothing is owed to a webhook or about a task that has been removed, and no task is expired or purged while something
 *   about it is owed.
 */
export interface OutboxStore {
  /** Takes what is due, for so long; the longest due first. */
  claim(request: { readonly limit: number; readonly leaseMs: number }): Promise<readonly Owed[]>;
  /**
   * Everything up to this event has been told. Answers what is owed by now, under the same claim for another `leaseMs`,
   * or nothing: then there is no more, or the claim is void.
   */
  done(claim: OwedClaim, upTo: Seq, leaseMs: number): Promise<Owed | undefined>;
  /** Given back, to be claimed again after a while. False: the claim was void. */
  failed(claim: OwedClaim, retryAfterMs: number): Promise<boolean>;
  /** Called after commits of this instance that owe somebody something. A hint; may be lost. */
  onOwed(listener: () => void): Disposable;
}
