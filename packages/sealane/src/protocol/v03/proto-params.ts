import { type Fields, invalid, isObject, member, requireFields } from '../field-reader.ts';
import { stateOf } from '../state-names.ts';

/**
 * Params of the 0.3 methods from `a2a.v1` JSON, in either spelling of its names. Parts and messages that are 0.3 JSON
 * already pass as they are, and so does what is neither: the method says best what is wrong with it.
 */
export const sendParamsOfProto = (value: unknown): Fields => {
  const fields = requireFields(value, 'body');
  const message = member(fields, 'message', 'request');
  const isPlain = isObject(message) && message['parts'] !== undefined;
  return {
    message: messageOfProto(message),
    ...copied(fields, 'metadata'),
    ...(isObject(fields['configuration']) && { configuration: configurationOf(fields['configuration'], isPlain) }),
  };
};

/**
 * A number or a flag that is not there has its default, as in protobuf: do not wait, and all of the history. Callers
 * that send 0.3 JSON mean what its methods take an absent member for.
 */
const configurationOf = (fields: Fields, isPlain: boolean): Fields => {
  const historyLength = member(fields, 'historyLength', 'history_length');
  const modes = member(fields, 'acceptedOutputModes', 'accepted_output_modes');
  const blocking = fields['blocking'] ?? (isPlain ? undefined : false);
  const webhook =
    member(fields, 'pushNotification', 'push_notification') ??
    member(fields, 'pushNotificationConfig', 'push_notification_config');
  return {
    ...(modes !== undefined && { acceptedOutputModes: modes }),
    ...(historyLength !== undefined && (isPlain || historyLength !== 0) && { historyLength }),
    ...(blocking !== undefined && { blocking }),
    ...(webhook !== undefined && { pushNotificationConfig: webhookOf(webhook) }),
  };
};

const ROLES: Readonly<Record<string, string>> = { ROLE_USER: 'user', ROLE_AGENT: 'agent', 1: 'user', 2: 'agent' };

const messageOfProto = (value: unknown): unknown => {
  if (!isObject(value)) return value;
  const parts = member(value, 'parts', 'content');
  const message: Record<string, unknown> = {
    kind: value['kind'] ?? 'message',
    role: ROLES[String(value['role'])] ?? value['role'],
    parts: Array.isArray(parts) ? parts.map(partOfProto) : parts,
    ...copied(value, 'metadata', 'extensions'),
  };
  for (const [name, protoName] of MESSAGE_IDS) {
    const id = member(value, name, protoName);
    if (id !== undefined) message[name] = id;
  }
  return message;
};

const MESSAGE_IDS = [
  ['messageId', 'message_id'],
  ['contextId', 'context_id'],
  ['taskId', 'task_id'],
  ['referenceTaskIds', 'reference_task_ids'],
] as const;

const partOfProto = (value: unknown): unknown => {
  if (!isObject(value) || value['kind'] !== undefined) return value;
  const { text, file, data } = value;
  const extras = copied(value, 'metadata');
  if (isObject(file)) return { kind: 'file', file: fileOf(file), ...extras };
  // The data of a part is a message around a Struct.
  if (isObject(data)) return { kind: 'data', data: data['data'] ?? {}, ...extras };
  return text === undefined ? value : { kind: 'text', text, ...extras };
};

/** A file that some clients write both ways has an empty address beside its bytes. */
const fileOf = (fields: Fields): Fields => {
  const uri = member(fields, 'fileWithUri', 'file_with_uri') ?? fields['uri'];
  const bytes = member(fields, 'fileWithBytes', 'file_with_bytes') ?? fields['bytes'];
  const mimeType = member(fields, 'mimeType', 'mime_type');
  return {
    ...(bytes !== undefined && { bytes }),
    ...(uri !== undefined && !(uri === '' && bytes !== undefined) && { uri }),
    ...(mimeType !== undefined && { mimeType }),
    ...copied(fields, 'name'),
  };
};

const webhookOf = (value: unknown): unknown => {
  if (!isObject(value)) return value;
  const { authentication } = value;
  return {
    ...copied(value, 'id', 'url', 'token'),
    ...(isObject(authentication) && { authentication: copied(authentication, 'schemes', 'credentials') }),
  };
};

/** Members that are called the same on both sides. Empty is absent, as in protobuf. */
const copied = (fields: Fields, ...names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(
    names
      .map((name) => [name, fields[name]])
      .filter(([, value]) => value !== undefined && value !== null && value !== ''),
  );

/** GetTask, CancelTask and TaskSubscription: `name` is `tasks/{id}`. A history of length 0 is all of it. */
export const taskParamsOfProto = (value: unknown): Fields => {
  const fields = requireFields(value, 'body');
  const historyLength = member(fields, 'historyLength', 'history_length');
  return {
    id: taskOf(fields['name'], 'name'),
    ...(historyLength !== undefined && historyLength !== 0 && { historyLength }),
  };
};

/** ListTaskPushNotificationConfig: `parent` is `tasks/{id}`. */
export const pushTaskOfProto = (value: unknown): Fields => ({
  id: taskOf(requireFields(value, 'body')['parent'], 'parent'),
});

/** Get and delete: `name` is `tasks/{id}/pushNotificationConfigs/{id}`. */
export const pushNameOfProto = (value: unknown): Fields => {
  const { name } = requireFields(value, 'body');
  const at = typeof name === 'string' ? name.lastIndexOf(CONFIGS) : -1;
  if (at === -1) throw invalid('name', 'must be like "tasks/{id}/pushNotificationConfigs/{id}".');
  const text = name as string;
  return { id: taskOf(text.slice(0, at), 'name'), pushNotificationConfigId: text.slice(at + CONFIGS.length) };
};

/**
 * CreateTaskPushNotificationConfig, as the whole request, as its `config` alone, which is the body that the proto gives
 * it on REST, or as params of 0.3. `taskId` is what the address says, if there is one.
 */
export const pushSettingOfProto = (value: unknown, taskId?: string): Fields => {
  const request = requireFields(value, 'body');
  const config = isObject(request['config']) ? request['config'] : request;
  const webhook = member(config, 'pushNotificationConfig', 'push_notification_config');
  const given = member(request, 'configId', 'config_id');
  const names = [request['parent'], config['name']].filter((name) => typeof name === 'string' && name !== '');
  const id = taskId ?? taskOf(names[0], 'parent');
  for (const name of names) {
    if (!`${String(name)}/`.startsWith(`tasks/${id}/`)) {
      throw invalid('name', `is of another task than "${id}": name one and the same.`);
    }
  }
  const setting = webhookOf(webhook);
  return {
    taskId: id,
    pushNotificationConfig: isObject(setting) && given ? { id: given, ...setting } : setting,
  };
};

const CONFIGS = '/pushNotificationConfigs/';

/** The id in `tasks/{id}`, and in what lies below it. */
const taskOf = (name: unknown, field: string): string => {
  const [, id] =
    (typeof name === 'string' ? /^tasks\/([^]+?)(?:\/pushNotificationConfigs(?:\/[^]*)?)?$/.exec(name) : null) ?? [];
  if (id === undefined) throw invalid(field, 'must be like "tasks/{id}".');
  return id;
};

/** `TASK_STATE_WORKING` is `working`; what is no name of a state stays as it is. */
export const stateOfProto = (name: unknown): unknown => {
  if (name === 'TASK_STATE_UNSPECIFIED') return '';
  return typeof name === 'string' ? (stateOf(name.replace('CANCELLED', 'CANCELED')) ?? name) : name;
};
