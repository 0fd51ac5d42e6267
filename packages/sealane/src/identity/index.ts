/**
 * Identity: who calls, and how often they may call. API keys are high-entropy secrets of which only a hash is stored; a
 * caller is what a key says about its holder. This module refuses keys that are unknown, revoked or expired, and knows
 * nothing of HTTP. Start with `keys.ts`; `rate-limiter.ts` and `unread-answers.ts` stand alone.
 */
export type { Authorizer } from './authorizer.ts';
export { createAuthorizer, keyHasEnded } from './authorizer.ts';
export type { GivenKey, KeyHolder, KeyOverride, Keys, KeysOptions } from './keys.ts';
export { createKeys, OPERATOR_KEY_ID } from './keys.ts';
export type { NewKey } from './new-key.ts';
export { OPERATOR_OWNER } from './new-key.ts';
export { createKeySecret, hashKeySecret } from './key-secret.ts';
export type { RateLimiter, RateLimiterOptions } from './rate-limiter.ts';
export { createRateLimiter } from './rate-limiter.ts';
export type { UnreadAnswers, Waiting } from './unread-answers.ts';
export { createUnreadAnswers } from './unread-answers.ts';
