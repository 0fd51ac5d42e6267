import type { JsonObject } from '#domain';

import type { PushConfigRecord } from '../storage.ts';
import type { NewWebhook, Result, Scope, TaskId } from '../task-store.ts';
import { DELETE_OWED_TO, DELETE_WEBHOOK, SAVE_WEBHOOK, SET_HEAD_PUSH, WEBHOOKS } from './outbox.sql.ts';
import { all, first, type Steps } from './step.ts';
import { visibleTask } from './task-row.ts';
import { HEAD, LOCK_HEAD, type TaskRow } from './tasks.sql.ts';

/** The task, with its head locked: nobody writes events of it until we commit. Absent if it went away before that. */
function* lockedTask(scope: Scope, id: TaskId): Steps<TaskRow | undefined> {
  const row = yield* visibleTask(scope, id);
  if (!row) return undefined;
  yield* first(LOCK_HEAD, row.k);
  return (yield* first(HEAD, row.k)) && row;
}

export function* savePushConfig(scope: Scope, taskId: TaskId, webhook: NewWebhook): Steps<Result<null>> {
  const row = yield* lockedTask(scope, taskId);
  if (!row) return { ok: false, why: 'absent' };
  const id = yield* placeFor(row.k, webhook);
  if (id === undefined) return { ok: false, why: 'push-full' };
  yield* addWebhook(row.k, { ...webhook, id });
  return { ok: true, value: null };
}

/** The id that a webhook gets among those of its task; none if there are as many as may be. */
export function* placeFor(task: number, webhook: NewWebhook): Steps<string | undefined> {
  const known = yield* all(WEBHOOKS, task);
  const text = JSON.stringify(webhook.config);
  const same = known.find(({ id, config }) => id === webhook.id || (webhook.isRepeatable && config === text));
  return same?.id ?? (known.length < webhook.limit ? webhook.id : undefined);
}

/** The head must be locked. */
export function* addWebhook(task: number, webhook: NewWebhook): Steps<void> {
  yield* first(SAVE_WEBHOOK, task, webhook.id, JSON.stringify(webhook.config), webhook.isSilent ? 1 : 0);
  yield* first(SET_HEAD_PUSH, task, task);
}

export function* listPushConfigs(scope: Scope, taskId: TaskId): Steps<Result<readonly PushConfigRecord[]>> {
  const row = yield* visibleTask(scope, taskId);
  if (!row) return { ok: false, why: 'absent' };
  const webhooks = yield* all(WEBHOOKS, row.k);
  return {
    ok: true,
    value: webhooks.map(({ id, config }) => ({ taskId, id, config: JSON.parse(config) as JsonObject })),
  };
}

/** What was owed to it is owed to nobody. */
export function* removePushConfig(scope: Scope, taskId: TaskId, id: string): Steps<Result<boolean>> {
  const row = yield* lockedTask(scope, taskId);
  if (!row) return { ok: false, why: 'absent' };
  if (!(yield* first(DELETE_WEBHOOK, row.k, id))) return { ok: true, value: false };
  yield* first(SET_HEAD_PUSH, row.k, row.k);
  yield* first(DELETE_OWED_TO, row.k, id);
  return { ok: true, value: true };
}
