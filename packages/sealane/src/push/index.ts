/**
 * Webhooks: send the events of tasks to receivers, in order and at least once, from what the outbox owes to them. This
 * module refuses to call addresses that only this machine or its network can reach, and never follows a redirect. The
 * engine's loop of followers decides when it is called. Start with `webhook-follower.ts` (the order of events), then
 * `webhook-client.ts` (one request) and `target-guard.ts` (which addresses may be called).
 */
export type { PushObserver, PushOutcome } from './push-observer.ts';
export type { EncodePush, PushBody, PushNews } from './delivery.ts';
export type { PushSettings } from './webhook-follower.ts';
export { createWebhookFollower, DEFAULT_PUSH_SETTINGS } from './webhook-follower.ts';
export type { TargetGuard } from './target-guard.ts';
export { createTargetGuard } from './target-guard.ts';
