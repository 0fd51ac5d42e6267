import { randomUUID } from 'node:crypto';

type Fields = Readonly<Record<string, unknown>>;

/** The channel takes these names for one another, and answers both in the words of A2A 1.0. */
const METHODS: Readonly<Record<string, string>> = {
  __proto__: null as never,
  SendMessage: 'SendMessage',
  'message/send': 'SendMessage',
  GetTask: 'GetTask',
  'tasks/get': 'GetTask',
};

export interface TranslatedCall {
  readonly body: unknown;
  /** The caller is answered in this version of A2A; undefined leaves that to the caller. */
  readonly version: string | undefined;
}

/**
 * What the channel would have understood, said as the service wants it: the channel overlooks the version, the tenant
 * and who is said to speak, makes up a missing message id, and skips parts that it has no use for. Methods that the
 * channel does not have are left as they are.
 */
export const translateCall = (body: unknown): TranslatedCall => {
  if (!isFields(body)) return { body, version: undefined };
  const method = typeof body['method'] === 'string' ? METHODS[body['method']] : undefined;
  if (method === undefined) return { body, version: undefined };
  const { tenant: _tenant, ...params } = isFields(body['params']) ? body['params'] : {};
  const { message } = params as Fields;
  const translated = isFields(message) ? { ...params, message: translateMessage(message) } : params;
  return { body: { ...body, method, params: translated }, version: '1.0' };
};

const ROLES: readonly unknown[] = ['ROLE_USER', 'ROLE_AGENT', 'user', 'agent'];

const translateMessage = (message: Fields): Fields => ({
  ...message,
  messageId: message['messageId'] ?? randomUUID(),
  role: ROLES.includes(message['role']) ? 'ROLE_USER' : message['role'],
  parts: Array.isArray(message['parts']) ? usableParts(message['parts']) : message['parts'],
});

const usableParts = (parts: readonly unknown[]): readonly unknown[] => {
  const usable = parts.filter(
    (part) => isFields(part) && ['text', 'data', 'raw', 'url'].some((member) => part[member] !== undefined),
  );
  return usable.length === 0 ? parts : usable;
};

/** The task that a message goes on with, if it names one. */
export const findTaskId = (body: unknown): string | undefined => {
  const message = messageOf(body);
  return typeof message?.['taskId'] === 'string' ? message['taskId'] : undefined;
};

/** The same message, as the beginning of a new task. */
export const withoutTaskId = (body: unknown): unknown => {
  const message = messageOf(body);
  if (message === undefined) return body;
  const { taskId: _taskId, ...rest } = message;
  const call = body as { readonly params: Fields };
  return { ...call, params: { ...call.params, message: rest } };
};

const messageOf = (body: unknown): Fields | undefined => {
  if (!isFields(body) || body['method'] !== 'SendMessage' || !isFields(body['params'])) return undefined;
  const { message } = body['params'];
  return isFields(message) ? message : undefined;
};

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
