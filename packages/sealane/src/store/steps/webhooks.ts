import type { JsonObject } from '#domain';

import type { Result } from '../result.ts';
import type { PushConfigRecord } from '../storage.ts';
import type { NewWebhook, Scope, TaskId } from '../task-store.ts';
import { webhookAt, webhookTarget } from './followers/webhook.ts';
import { addFollower, dropFollower } from './following.ts';
import { all, first, type Steps } from './step.ts';
import { lockedTask, visibleTask } from './task-view.ts';
import { FACTS_BY_KEY } from './tasks.sql.ts';
import { DELETE_WEBHOOK, SAVE_WEBHOOK, WEBHOOK, type WebhookRow, WEBHOOKS } from './webhooks.sql.ts';

export function* savePushConfig(scope: Scope, taskId: TaskId, webhook: NewWebhook): Steps<Result<null>> {
  const row = yield* lockedTask(scope, taskId);
  if (!row) return { ok: false, why: 'absent' };
  const id = yield* placeFor(row.k, webhook);
  if (id === undefined) return { ok: false, why: 'push-full' };
  yield* addWebhook(row.k, { ...webhook, id });
  return { ok: true, value: null };
}

/** The id that a webhook gets among those of its task. Undefined: the task has its maximum of webhooks. */
export function* placeFor(task: number, webhook: NewWebhook): Steps<string | undefined> {
  const known = yield* all(WEBHOOKS, task);
  const text = JSON.stringify(webhook.config);
  const same = known.find(({ id, config }) => id === webhook.id || (webhook.isRepeatable && config === text));
  return same?.id ?? (known.length < webhook.limit ? webhook.id : undefined);
}

/** A webhook is a configuration and a follower of every event. The caller has locked the head. */
export function* addWebhook(task: number, webhook: NewWebhook): Steps<void> {
  const { id, config, isSilent = false, status = 'active' } = webhook;
  yield* first(SAVE_WEBHOOK, task, id, JSON.stringify(config), isSilent ? 1 : 0, status);
  const follower = { kind: 'webhook', target: webhookTarget(task, id) } as const;
  if (isSilent) yield* dropFollower(task, follower);
  else yield* addFollower(task, { ...follower, events: 'every' });
}

const recordOf = (taskId: TaskId, { id, config, status }: WebhookRow): PushConfigRecord => ({
  taskId,
  id,
  config: JSON.parse(config) as JsonObject,
  status,
});

export function* listPushConfigs(scope: Scope, taskId: TaskId): Steps<Result<readonly PushConfigRecord[]>> {
  const row = yield* visibleTask(scope, taskId);
  if (!row) return { ok: false, why: 'absent' };
  return { ok: true, value: (yield* all(WEBHOOKS, row.k)).map((webhook) => recordOf(taskId, webhook)) };
}

/** Also drops the events that are owed to the webhook. */
export function* removePushConfig(scope: Scope, taskId: TaskId, id: string): Steps<Result<boolean>> {
  const row = yield* lockedTask(scope, taskId);
  if (!row) return { ok: false, why: 'absent' };
  if (!(yield* first(DELETE_WEBHOOK, row.k, id))) return { ok: true, value: false };
  yield* dropFollower(row.k, { kind: 'webhook', target: webhookTarget(row.k, id) });
  return { ok: true, value: true };
}

/** The webhook that a follower's target names, even if its task was removed in the meantime. */
export function* pushConfigAt(target: string): Steps<PushConfigRecord | undefined> {
  const { task, id } = webhookAt(target);
  const webhook = yield* first(WEBHOOK, task, id);
  const row = yield* first(FACTS_BY_KEY, task);
  return webhook && row && recordOf(row.removed_id ?? row.id, webhook);
}
