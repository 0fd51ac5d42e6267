import type { FollowerKind } from '../../follower.ts';
import type { FollowerSteps } from './follower-kind.ts';
import { probe } from './probe.ts';
import { webhook } from './webhook.ts';

/** Every kind of follower, by its name. A new kind is a file here, a line in this table, and its name in `follower.ts`. */
export const FOLLOWERS: { readonly [K in FollowerKind]: FollowerSteps<K> } = { webhook, probe };
