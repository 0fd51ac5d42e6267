import type { Message, Part } from '#domain';

import {
  checkJson,
  type Fields,
  findId,
  findMetadata,
  findText,
  findTexts,
  invalid,
  isObject,
  member,
  requireFields,
  requireId,
} from './field-reader.ts';

export const MAX_PARTS = 100;

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * A caller's message, checked and brought into its stored form: known members only, JSON names, absent rather than
 * empty. Hand-written, because every send goes through here.
 */
export const decodeMessage = (value: unknown, field: string): Message => {
  const fields = requireFields(value, field);
  const messageId = requireId(member(fields, 'messageId', 'message_id'), `${field}.messageId`);
  if (fields['role'] !== 'ROLE_USER') {
    throw invalid(`${field}.role`, 'must be "ROLE_USER": messages of agents are made by agents.');
  }
  const message: Writable<Message> = { messageId, role: 'ROLE_USER', parts: decodeParts(fields['parts'], field) };
  const contextId = findId(member(fields, 'contextId', 'context_id'), `${field}.contextId`);
  if (contextId !== undefined) message.contextId = contextId;
  const taskId = findId(member(fields, 'taskId', 'task_id'), `${field}.taskId`);
  if (taskId !== undefined) message.taskId = taskId;
  const metadata = findMetadata(fields['metadata'], `${field}.metadata`);
  if (metadata !== undefined) message.metadata = metadata;
  const extensions = findTexts(fields['extensions'], `${field}.extensions`);
  if (extensions !== undefined && extensions.length > 0) message.extensions = extensions;
  const references = findTexts(member(fields, 'referenceTaskIds', 'reference_task_ids'), `${field}.referenceTaskIds`);
  if (references !== undefined && references.length > 0) {
    message.referenceTaskIds = references.map((id, index) => requireId(id, `${field}.referenceTaskIds[${index}]`));
  }
  return message;
};

const decodeParts = (value: unknown, field: string): readonly Part[] => {
  if (!Array.isArray(value) || value.length === 0)
    throw invalid(`${field}.parts`, 'must be an array of at least one part.');
  if (value.length > MAX_PARTS) throw invalid(`${field}.parts`, `has more than ${MAX_PARTS} parts.`);
  const parts: Part[] = [];
  for (let index = 0; index < value.length; index += 1)
    parts.push(decodePart(value[index], `${field}.parts[${index}]`));
  return parts;
};

export const decodePart = (value: unknown, field: string): Part => {
  if (!isObject(value)) throw invalid(field, 'must be an object with one of text, raw, url or data.');
  const part = decodeContent(value, field);
  const mediaType = findText(member(value, 'mediaType', 'media_type'), `${field}.mediaType`, 256);
  if (mediaType) part.mediaType = mediaType;
  const filename = findText(value['filename'], `${field}.filename`, 1024);
  if (filename) part.filename = filename;
  const metadata = findMetadata(value['metadata'], `${field}.metadata`);
  if (metadata !== undefined) part.metadata = metadata;
  return part;
};

/** Exactly one of the four decides what a part is. `data` may be null, which is a JSON value like any other. */
const decodeContent = (fields: Fields, field: string): Writable<Part> => {
  const text = findText(fields['text'], `${field}.text`);
  const raw = findText(fields['raw'], `${field}.raw`);
  const url = findText(fields['url'], `${field}.url`);
  const { data } = fields;
  const found = (text === undefined ? 0 : 1) + (raw === undefined ? 0 : 1) + (url === undefined ? 0 : 1);
  if (found > 1 || (found === 1 && data !== undefined && data !== null)) {
    throw invalid(field, 'has more than one of text, raw, url and data: make several parts of it.');
  }
  if (text !== undefined) return { text };
  if (raw !== undefined) return { raw: decodeBase64(raw, `${field}.raw`) };
  if (url !== undefined) {
    if (!URL.canParse(url)) throw invalid(`${field}.url`, 'must be an absolute URL.');
    return { url };
  }
  if (data === undefined) throw invalid(field, 'has none of text, raw, url and data: give one.');
  checkJson(data, `${field}.data`);
  return { data: data as NonNullable<Part['data']> };
};

/** Standard base64 with padding is kept; the URL alphabet and missing padding, which ProtoJSON allows, are mended. */
export const decodeBase64 = (text: string, field: string): string => {
  if (text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)) return text;
  const digits = text.replace(/={1,2}$/, '');
  if (!/^[A-Za-z0-9+/_-]*$/.test(digits) || digits.length % 4 === 1) throw invalid(field, 'must be base64.');
  return Buffer.from(digits, 'base64').toString('base64');
};
