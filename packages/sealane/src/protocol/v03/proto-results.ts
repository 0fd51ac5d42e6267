import type { State } from '#domain';

import { type Fields, isObject } from '../field-reader.ts';

/** Answers of the 0.3 methods as `a2a.v1` JSON. What has the default of protobuf, or no member there, is left out. */
type Json = Readonly<Record<string, unknown>>;

/** SendMessageResponse. */
export const protoResultOf = (result: unknown): Json => {
  const value = result as Fields;
  return value['kind'] === 'message' ? { message: messageOf(value) } : { task: protoTaskOf(value) };
};

/** StreamResponse. */
export const protoEventOf = (event: unknown): Json => {
  const value = event as Fields;
  if (value['kind'] === 'status-update') return { statusUpdate: statusUpdateOf(value) };
  if (value['kind'] === 'artifact-update') return { artifactUpdate: artifactUpdateOf(value) };
  return protoResultOf(value);
};

export const protoTaskOf = (task: unknown): Json => {
  const { id, contextId, status, artifacts, history, metadata } = task as Fields;
  return {
    id,
    contextId,
    status: statusOf(status as Fields),
    ...(Array.isArray(artifacts) && artifacts.length > 0 && { artifacts: artifacts.map(artifactOf) }),
    ...(Array.isArray(history) && history.length > 0 && { history: history.map(messageOf) }),
    ...kept({ metadata }),
  };
};

/** There is no such message in the proto of 0.3: the page of the method, around tasks as the other calls show them. */
export const protoPageOf = (page: unknown): Json => {
  const { tasks, ...rest } = page as { readonly tasks: readonly unknown[] };
  return { tasks: tasks.map(protoTaskOf), ...rest };
};

/** TaskPushNotificationConfig. */
export const protoPushConfigOf = (config: unknown): Json => {
  const { taskId, pushNotificationConfig } = config as Fields;
  const { id, url, token, authentication } = pushNotificationConfig as Fields;
  return {
    name: `tasks/${String(taskId)}/pushNotificationConfigs/${String(id)}`,
    pushNotificationConfig: { ...kept({ id, url, token, authentication }) },
  };
};

/** ListTaskPushNotificationConfigResponse. */
export const protoPushConfigsOf = (configs: unknown): Json => {
  const list = configs as readonly unknown[];
  return list.length === 0 ? {} : { configs: list.map(protoPushConfigOf) };
};

/** 0.3 has its own spelling of one of them. */
const STATES: Readonly<Record<State, string>> = {
  submitted: 'TASK_STATE_SUBMITTED',
  working: 'TASK_STATE_WORKING',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  canceled: 'TASK_STATE_CANCELLED',
  'input-required': 'TASK_STATE_INPUT_REQUIRED',
  rejected: 'TASK_STATE_REJECTED',
  'auth-required': 'TASK_STATE_AUTH_REQUIRED',
};

const statusOf = ({ state, message, timestamp }: Fields): Json => ({
  state: STATES[state as State],
  ...(isObject(message) && { message: messageOf(message) }),
  ...kept({ timestamp }),
});

const messageOf = (message: unknown): Json => {
  const { messageId, contextId, taskId, role, parts, metadata, extensions } = message as Fields;
  return {
    ...kept({ messageId, contextId, taskId }),
    role: role === 'user' ? 'ROLE_USER' : 'ROLE_AGENT',
    content: (parts as readonly Fields[]).map(partOf),
    ...kept({ metadata, extensions }),
  };
};

const artifactOf = (artifact: unknown): Json => {
  const { artifactId, name, description, parts, metadata, extensions } = artifact as Fields;
  return {
    ...kept({ artifactId, name, description }),
    parts: (parts as readonly Fields[]).map(partOf),
    ...kept({ metadata, extensions }),
  };
};

const partOf = ({ kind, text, file, data, metadata }: Fields): Json => {
  if (kind === 'text') return { text, ...kept({ metadata }) };
  if (kind === 'data') return { data: { data }, ...kept({ metadata }) };
  const { uri, bytes, mimeType, name } = file as Fields;
  return {
    file: { ...(bytes === undefined ? { fileWithUri: uri } : { fileWithBytes: bytes }), ...kept({ mimeType, name }) },
    ...kept({ metadata }),
  };
};

const statusUpdateOf = ({ taskId, contextId, status, final, metadata }: Fields): Json => ({
  taskId,
  contextId,
  status: statusOf(status as Fields),
  ...(final === true && { final }),
  ...kept({ metadata }),
});

const artifactUpdateOf = ({ taskId, contextId, artifact, append, lastChunk, metadata }: Fields): Json => ({
  taskId,
  contextId,
  artifact: artifactOf(artifact),
  ...(append === true && { append }),
  ...(lastChunk === true && { lastChunk }),
  ...kept({ metadata }),
});

const kept = (fields: Fields): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields).filter(
      ([, value]) => value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0),
    ),
  );
