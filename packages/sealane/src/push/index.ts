/**
 * Webhooks: tells others about the events of tasks, in order and at least once, from what the outbox owes them. It
 * refuses to call addresses that only this machine or its network can reach, and never follows a redirect. Start with
 * `webhook-follower.ts` (what is told in which order), then `webhook-client.ts` (one request) and `target-guard.ts` (who
 * may be called). When it is called is up to the engine's loop of followers.
 */
export type { PushObserver, PushOutcome } from './push-observer.ts';
export type { EncodePush, PushBody, PushNews } from './delivery.ts';
export type { PushSettings } from './webhook-follower.ts';
export { createWebhookFollower, DEFAULT_PUSH_SETTINGS } from './webhook-follower.ts';
export type { TargetGuard } from './target-guard.ts';
export { createTargetGuard } from './target-guard.ts';
