/**
 * Webhooks: tells others about the events of tasks, in order and at least once, from what the outbox owes them. It
 * refuses to call addresses that only this machine or its network can reach, and never follows a redirect. Start with
 * `push-worker.ts` (who is told when), then `webhook-client.ts` (one request) and `target-guard.ts` (who may be called).
 */
export type { PushObserver, PushOutcome } from './push-observer.ts';
export type { EncodePush, PushBody, PushNews, PushSettings, PushWorker } from './push-worker.ts';
export { createPushWorker, DEFAULT_PUSH_SETTINGS } from './push-worker.ts';
export type { TargetGuard } from './target-guard.ts';
export { createTargetGuard } from './target-guard.ts';
