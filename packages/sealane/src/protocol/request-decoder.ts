import type { JsonObject, Message, State } from '#domain';
import type { ListRequest, NewPushConfig } from '#engine';

import {
  findFlag,
  findId,
  findInteger,
  findMetadata,
  findText,
  findTexts,
  type Fields,
  invalid,
  member,
  requireFields,
  requireId,
} from './field-reader.ts';
import { decodeMessage } from './message-decoder.ts';
import { decodePushConfig } from './push-config.ts';
import { stateOf } from './state-names.ts';

const MAX_INT32 = 2_147_483_647;
const MAX_PAGE_SIZE = 100;
const DEFAULT_PAGE_SIZE = 50;

export interface SendParams {
  readonly tenant: string | undefined;
  readonly message: Message;
  readonly metadata: JsonObject | undefined;
  readonly returnImmediately: boolean;
  readonly historyLength: number | undefined;
  /** The agent that the caller asks for, in the metadata of the message or of the request. */
  readonly executor: string | undefined;
  /** The media types that the caller can take as an answer. */
  readonly outputModes: readonly string[] | undefined;
  /** A webhook for the new task. */
  readonly push: NewPushConfig | undefined;
}

export const decodeSendParams = (value: unknown): SendParams => {
  const params = requireFields(value, 'params');
  const message = decodeMessage(params['message'], 'message');
  const metadata = findMetadata(params['metadata'], 'metadata');
  const configuration = params['configuration'] ?? undefined;
  let returnImmediately = false;
  let historyLength: number | undefined;
  let outputModes: readonly string[] | undefined;
  let push: NewPushConfig | undefined;
  if (configuration !== undefined) {
    const fields = requireFields(configuration, 'configuration');
    const flag = member(fields, 'returnImmediately', 'return_immediately');
    returnImmediately = findFlag(flag, 'configuration.returnImmediately') ?? false;
    historyLength = findHistoryLength(fields, 'configuration.historyLength');
    const modes = member(fields, 'acceptedOutputModes', 'accepted_output_modes');
    outputModes = findTexts(modes, 'configuration.acceptedOutputModes');
    const webhook = member(fields, 'taskPushNotificationConfig', 'task_push_notification_config');
    if (webhook !== undefined) push = decodePushConfig(webhook, 'configuration.taskPushNotificationConfig');
  }
  return {
    tenant: findTenant(params),
    message,
    metadata,
    returnImmediately,
    historyLength,
    executor: executorOf(message, metadata),
    outputModes,
    push,
  };
};

/** The agent that a message asks for by name. */
export const executorOf = (message: Message, metadata: JsonObject | undefined): string | undefined => {
  const executor = message.metadata?.['executor'] ?? metadata?.['executor'];
  return executor === undefined ? undefined : findId(executor, 'metadata.executor');
};

const findHistoryLength = (fields: Fields, field: string): number | undefined =>
  findInteger(member(fields, 'historyLength', 'history_length'), field, 0, MAX_INT32);

const findTenant = (params: Fields): string | undefined => findId(params['tenant'], 'tenant');

export interface TaskParams {
  readonly tenant: string | undefined;
  readonly id: string;
}

/** What CancelTask and SubscribeToTask take. */
export const decodeTaskParams = (value: unknown): TaskParams => {
  const params = requireFields(value, 'params');
  findMetadata(params['metadata'], 'metadata');
  return { tenant: findTenant(params), id: requireId(params['id'], 'id') };
};

export const decodeGetParams = (value: unknown): TaskParams & { readonly historyLength: number | undefined } => {
  const params = requireFields(value, 'params');
  const historyLength = findHistoryLength(params, 'historyLength');
  return { tenant: findTenant(params), id: requireId(params['id'], 'id'), historyLength };
};

export interface ListParams {
  readonly tenant: string | undefined;
  readonly request: ListRequest;
  readonly historyLength: number | undefined;
}

export const decodeListParams = (value: unknown): ListParams => {
  const params = requireFields(value ?? {}, 'params');
  const contextId = findId(member(params, 'contextId', 'context_id'), 'contextId');
  const state = findState(params['status']);
  const since = findTimestamp(member(params, 'statusTimestampAfter', 'status_timestamp_after'), 'statusTimestampAfter');
  const limit = findInteger(member(params, 'pageSize', 'page_size'), 'pageSize', 1, MAX_PAGE_SIZE);
  const after = findText(member(params, 'pageToken', 'page_token'), 'pageToken', 1024);
  const withArtifacts = findFlag(member(params, 'includeArtifacts', 'include_artifacts'), 'includeArtifacts');
  const request: ListRequest = {
    limit: limit ?? DEFAULT_PAGE_SIZE,
    withArtifacts: withArtifacts ?? false,
    ...(contextId !== undefined && { contextId }),
    ...(state !== undefined && { states: [state] }),
    ...(since !== undefined && { since }),
    ...(after && { after }),
  };
  return { tenant: findTenant(params), request, historyLength: findHistoryLength(params, 'historyLength') };
};

const findState = (value: unknown): State | undefined => {
  if (value === undefined || value === null || value === '' || value === 'TASK_STATE_UNSPECIFIED') return undefined;
  const state = typeof value === 'string' ? stateOf(value) : undefined;
  if (state === undefined) throw invalid('status', 'must be the name of a state, like "TASK_STATE_WORKING".');
  return state;
};

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d{1,9}))?(?:Z|[+-]\d\d:\d\d)$/;

/** Statuses are compared as texts, and beyond this the text of a time begins with a sign. */
const LATEST_MILLIS = Date.parse('9999-12-31T23:59:59.999Z');

/** Brought to the form that statuses have: UTC with milliseconds, rounded up so that "not before" stays true. */
const findTimestamp = (value: unknown, field: string): string | undefined => {
  if (value === undefined || value === null || value === '') return undefined;
  const match = typeof value === 'string' ? TIMESTAMP.exec(value) : null;
  const millis = match ? Date.parse(value as string) : Number.NaN;
  if (!match || Number.isNaN(millis)) throw invalid(field, 'must be a time like "2026-01-31T12:00:00.000Z".');
  const beyondMillis = /[1-9]/.test((match[1] ?? '').slice(3)) ? 1 : 0;
  return new Date(Math.min(millis + beyondMillis, LATEST_MILLIS)).toISOString();
};
