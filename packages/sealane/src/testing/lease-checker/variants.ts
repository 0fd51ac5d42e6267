/**
 * Ways to write the transactions in `protocol.ts`: mistakes that the checker has to find, and precautions that forgive
 * a runner more.
 */
export interface Protocol {
  /** A mistake: claim locks the lane and picks its head in one statement, so in one snapshot. */
  readonly oneStatementClaim: boolean;
  /** A mistake: append looks whether its epoch still holds, then inserts under a number of its own. */
  readonly unlockedFence: boolean;
  /** A mistake: finish advances the head whatever its epoch. */
  readonly noFence: boolean;
  /** A mistake, unless the runner's own clock makes up for it: renew extends a lease that has run out. */
  readonly reviveLease: boolean;
  /** The same mistake in disguise: renew makes the row anew that reap has deleted. */
  readonly upsertLease: boolean;
  /** A mistake: reap looks only at those whose instance it has just deleted; a claim under way becomes nobody's. */
  readonly reapOnce: boolean;
  /**
   * Less care: reap reads who is gone and leaves the instances alone. The runner itself has to notice, then, that its
   * renewal was answered too late.
   */
  readonly reapReadsLease: boolean;
  /** A precaution: finish and release end their epoch, so that either may be sent twice and a late append is lost. */
  readonly finishEndsEpoch: boolean;
}

/** What Sealane does. */
export const sealane: Protocol = {
  oneStatementClaim: false,
  unlockedFence: false,
  noFence: false,
  reviveLease: false,
  upsertLease: false,
  reapOnce: false,
  reapReadsLease: false,
  finishEndsEpoch: true,
};
