import type { PushConfig } from '#engine';

import { requireFields, requireId } from '../field-reader.ts';
import { decodeWebhook } from '../push-config.ts';
import { findSchemes, legacyWebhookOf } from '../v03/v03-push-config.ts';
import { V01 } from './v01-encoder.ts';

/** The webhook of a 0.1 request. A task has only one, so it has no id of its own. */
export const decodeV01Webhook = (value: unknown, field: string, taskName: string): Omit<PushConfig, 'id'> => {
  const fields = requireFields(value, field);
  const { id: _id, ...webhook } = decodeWebhook(fields, field);
  const authentication = findSchemes(fields['authentication'], `${field}.authentication`);
  return { ...webhook, dialect: V01, taskName, ...(authentication && { authentication }) };
};

/** What `tasks/pushNotification/set` takes. */
export const decodeV01PushSetting = (
  value: unknown,
): { readonly name: string; readonly webhook: Omit<PushConfig, 'id'> } => {
  const params = requireFields(value, 'params');
  const name = requireId(params['id'], 'id');
  return { name, webhook: decodeV01Webhook(params['pushNotificationConfig'], 'pushNotificationConfig', name) };
};

/** A webhook as 0.1 JSON text. */
export const encodeV01PushConfig = (config: PushConfig, name: string): string =>
  JSON.stringify({ id: name, pushNotificationConfig: legacyWebhookOf(config) });
