/**
 * Followers: what each kind of follower writes when it has handled events, in the same commit. Nothing here reaches out
 * of the store: what a kind does outside is in the handlers of the engine. Start with `follower-kind.ts`. A new kind is a
 * file here, a line in this table, and its name in `../../follower.ts`.
 */
import type { FollowerKind } from '../../follower.ts';
import type { FollowerSteps } from './follower-kind.ts';
import { probe } from './probe.ts';
import { webhook } from './webhook.ts';

/** Every kind of follower, by its name. */
export const FOLLOWERS: { readonly [K in FollowerKind]: FollowerSteps<K> } = { webhook, probe };
