import type { FollowerKind } from '../../follower.ts';
import type { FollowerAnswers, FollowerEffects } from '../../outbox-store.ts';
import type { Steps } from '../step.ts';

/**
 * What a kind of follower writes when it has handled events. It runs inside the step that says so: what it writes and
 * that the events were handled is one commit. Lock order: first the aggregate of its own (an objective, an account), then
 * what the steps that it embeds lock (lanes, heads). A step that it embeds may `refuse`: then nothing is written, and the
 * claim stays as it was.
 */
export interface FollowerSteps<K extends FollowerKind> {
  apply(target: string, effect: FollowerEffects[K]): Steps<FollowerAnswers[K]>;
}
