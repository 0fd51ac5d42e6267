import { SealaneError } from '#domain';
import type { NewPushConfig, PushConfig } from '#engine';

import { checkText, findId, findText, type Fields, invalid, member, requireFields, requireId } from './field-reader.ts';

const MAX_URL_LENGTH = 2048;
const MAX_SECRET_LENGTH = 4096;

export const noPush = (): SealaneError =>
  new SealaneError(
    'push-not-supported',
    'Push notifications are not available here: subscribe to the task, or poll it.',
  );

/** The webhook of a 1.0 request: all members beside each other. */
export const decodePushConfig = (value: unknown, field: string): NewPushConfig => {
  const fields = requireFields(value, field);
  const authentication = fields['authentication'] ?? undefined;
  return {
    ...decodeWebhook(fields, field),
    dialect: '1.0',
    ...(authentication !== undefined && {
      authentication: decodeAuthentication(authentication, `${field}.authentication`),
    }),
  };
};

/** What the webhooks of all dialects have in common. */
export const decodeWebhook = (fields: Fields, field: string): Pick<NewPushConfig, 'id' | 'url' | 'token'> => {
  const id = findId(fields['id'], `${field}.id`);
  const token = findSecret(fields['token'], `${field}.token`);
  return {
    url: decodeUrl(fields['url'], `${field}.url`),
    ...(id !== undefined && { id }),
    ...(token !== undefined && { token }),
  };
};

const decodeUrl = (value: unknown, field: string): string => {
  const text = findText(value, field, MAX_URL_LENGTH);
  if (!text) throw invalid(field, 'is missing: give the address that events are to be sent to.');
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw invalid(field, 'must be an absolute http or https URL.');
  }
  if (url.username !== '' || url.password !== '') {
    throw invalid(field, 'must not contain a name or password: use authentication.');
  }
  return text;
};

/** It becomes part of a header, where a line break would begin another one. */
export const findSecret = (value: unknown, field: string): string | undefined => {
  const text = findText(value, field, MAX_SECRET_LENGTH);
  if (!text) return undefined;
  if (!/^[\x20-\x7e]+$/.test(checkText(text, field))) throw invalid(field, 'must be printable ASCII characters.');
  return text;
};

const decodeAuthentication = (value: unknown, field: string): NonNullable<NewPushConfig['authentication']> => {
  const fields = requireFields(value, field);
  return authenticationOf(fields['scheme'], fields['credentials'], field);
};

export const authenticationOf = (
  schemeValue: unknown,
  credentialsValue: unknown,
  field: string,
): NonNullable<NewPushConfig['authentication']> => {
  const scheme = findText(schemeValue, `${field}.scheme`, 64);
  if (!scheme || !/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(scheme)) {
    throw invalid(`${field}.scheme`, 'must be the name of an HTTP authentication scheme, like "Bearer".');
  }
  const credentials = findSecret(credentialsValue, `${field}.credentials`);
  return { scheme, ...(credentials !== undefined && { credentials }) };
};

/** A webhook as A2A 1.0 JSON. */
export const encodePushConfig = ({ id, url, token, authentication }: PushConfig, taskId: string): string =>
  JSON.stringify({ id, taskId, url, ...(token !== undefined && { token }), ...(authentication && { authentication }) });

export interface PushTask {
  readonly taskId: string;
  readonly tenant: string | undefined;
}

/** Whose webhooks a 1.0 call is about. */
export const decodePushTask = (value: unknown): PushTask => {
  const params = requireFields(value, 'params');
  return {
    taskId: requireId(member(params, 'taskId', 'task_id'), 'taskId'),
    tenant: findId(params['tenant'], 'tenant'),
  };
};

/** Which webhook of which task: what Get and Delete take. */
export const decodePushConfigName = (value: unknown): PushTask & { readonly id: string } => ({
  ...decodePushTask(value),
  id: requireId(requireFields(value, 'params')['id'], 'id'),
});
