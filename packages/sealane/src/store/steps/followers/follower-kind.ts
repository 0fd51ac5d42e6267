import type { FollowerKind } from '../../follower.ts';
import type { FollowerAnswers, FollowerEffects } from '../../outbox-store.ts';
import type { Steps } from '../step.ts';

/**
 * What a kind of follower writes when it has handled events. `apply` runs inside the step that records that the events
 * were handled, so both are one commit. Lock order: first the kind's own aggregate (an objective, an account), then
 * what its embedded steps lock (lanes, heads). An embedded step may `refuse`: then nothing is written, and the claim
 * stays as it was.
 */
export interface FollowerSteps<K extends FollowerKind> {
  apply(target: string, effect: FollowerEffects[K]): Steps<FollowerAnswers[K]>;
}
