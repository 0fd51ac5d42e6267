import type { NewPushConfig, PushConfig } from '#engine';

import { findId, findTexts, invalid, requireFields, requireId } from '../field-reader.ts';
import { authenticationOf, decodeWebhook } from '../push-config.ts';
import { V03 } from './v03-encoder.ts';

/** The webhook of a 0.3 request. */
export const decodeV03PushConfig = (value: unknown, field: string): NewPushConfig => {
  const fields = requireFields(value, field);
  const authentication = findSchemes(fields['authentication'], `${field}.authentication`);
  return { ...decodeWebhook(fields, field), dialect: V03, ...(authentication && { authentication }) };
};

/** Before 1.0 there is a list of schemes, of which the sender picks one: we pick the first. */
export const findSchemes = (value: unknown, field: string): PushConfig['authentication'] => {
  if (value === undefined || value === null) return undefined;
  const fields = requireFields(value, field);
  const [scheme] = findTexts(fields['schemes'], `${field}.schemes`) ?? [];
  const credentials = fields['credentials'] ?? undefined;
  if (scheme !== undefined) return authenticationOf(scheme, credentials, field);
  if (credentials === undefined) return undefined;
  throw invalid(`${field}.schemes`, 'is empty: name the scheme of the credentials, like "Bearer".');
};

/** `set`, before 1.0: a task, and its webhook as a member of its own. Without an id it is the task's own one. */
export const decodeV03PushSetting = (
  value: unknown,
): { readonly taskId: string; readonly config: NewPushConfig & { readonly id: string } } => {
  const params = requireFields(value, 'params');
  const taskId = requireId(params['taskId'] ?? params['id'], 'taskId');
  const config = decodeV03PushConfig(params['pushNotificationConfig'], 'pushNotificationConfig');
  return { taskId, config: { ...config, id: config.id ?? taskId } };
};

/** What `get`, `list` and `delete` take. */
export const decodeV03PushName = (value: unknown): { readonly taskId: string; readonly id: string | undefined } => {
  const params = requireFields(value, 'params');
  return {
    taskId: requireId(params['id'] ?? params['taskId'], 'id'),
    id: findId(params['pushNotificationConfigId'], 'pushNotificationConfigId'),
  };
};

/** A webhook as 0.3 JSON text. */
export const encodeV03PushConfig = (config: PushConfig, taskId: string): string =>
  JSON.stringify({ taskId, pushNotificationConfig: { id: config.id, ...legacyWebhookOf(config) } });

/** What 0.3 and 0.1 show of a webhook. */
export const legacyWebhookOf = ({ url, token, authentication }: PushConfig): object => ({
  url,
  ...(token !== undefined && { token }),
  ...(authentication && {
    authentication: {
      schemes: [authentication.scheme],
      ...(authentication.credentials !== undefined && { credentials: authentication.credentials }),
    },
  }),
});
