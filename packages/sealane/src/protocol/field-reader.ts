import { type JsonObject, SealaneError } from '#domain';

import { MAX_DEPTH } from './json-text.ts';

/** Members of a JSON object of unknown content. Only known names are ever read, so no key of a caller can surprise. */
export type Fields = Readonly<Record<string, unknown>>;

export const MAX_ID_LENGTH = 128;

/** A path can hold keys of the caller's choice, of any length. */
const MAX_PATH_LENGTH = 200;

export const invalid = (path: string, why: string): SealaneError => {
  const field = path.length > MAX_PATH_LENGTH ? `${path.slice(0, MAX_PATH_LENGTH).toWellFormed()}…` : path;
  return new SealaneError('invalid-params', `${field} ${why}`, { facts: { field } });
};

export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const requireFields = (value: unknown, field: string): Fields => {
  if (isObject(value)) return value;
  throw invalid(field, value === undefined ? 'is missing: give an object.' : 'must be an object.');
};

/**
 * A member by its JSON name or its proto name, as ProtoJSON allows. Null is absent; both names at once are refused,
 * because nobody can tell which of them was meant.
 */
export const member = (fields: Fields, name: string, protoName: string): unknown => {
  const value = fields[name] ?? undefined;
  const other = fields[protoName] ?? undefined;
  if (other === undefined) return value;
  if (value === undefined) return other;
  throw invalid(name, `is given twice, as ${name} and as ${protoName}: give it once.`);
};

/** No store and no log takes these: NUL ends strings in C, and half a surrogate pair has no UTF-8. */
export const checkText = (text: string, field: string): string => {
  if (text.includes('\0')) throw invalid(field, 'contains a NUL character: remove it.');
  if (!text.isWellFormed()) throw invalid(field, 'contains half a surrogate pair, which is no character: remove it.');
  return text;
};

export const findText = (value: unknown, field: string, maxLength = Infinity): string | undefined => {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw invalid(field, 'must be a string.');
  if (value.length > maxLength) throw invalid(field, `is longer than ${maxLength} characters.`);
  return checkText(value, field);
};

// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f]/;

/** An id of a caller's choice. Empty is absent, as in protobuf. */
export const findId = (value: unknown, field: string): string | undefined => {
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') throw invalid(field, 'must be a string.');
  if (value.length > MAX_ID_LENGTH) throw invalid(field, `is longer than ${MAX_ID_LENGTH} characters.`);
  if (CONTROL.test(value)) throw invalid(field, 'contains control characters: remove them.');
  return checkText(value, field);
};

export const requireId = (value: unknown, field: string): string => {
  const id = findId(value, field);
  if (id === undefined) throw invalid(field, 'is missing: give a string that is not empty.');
  return id;
};

export const findFlag = (value: unknown, field: string): boolean | undefined => {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'boolean') throw invalid(field, 'must be true or false.');
  return value;
};

/** A whole number; ProtoJSON also takes it as a string. */
export const findInteger = (value: unknown, field: string, min: number, max: number): number | undefined => {
  if (value === undefined || value === null) return undefined;
  const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isInteger(number) || number < min || number > max) {
    throw invalid(field, `must be a whole number from ${min} to ${max}.`);
  }
  return number;
};

export const findTexts = (value: unknown, field: string, maxItems = 100): readonly string[] | undefined => {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) throw invalid(field, 'must be an array of strings.');
  if (value.length > maxItems) throw invalid(field, `has more than ${maxItems} entries.`);
  return value.map((item: unknown, index) => {
    if (typeof item !== 'string') throw invalid(`${field}[${index}]`, 'must be a string.');
    return checkText(item, `${field}[${index}]`);
  });
};

/** A metadata object: any JSON, kept as it is. Empty is absent. */
export const findMetadata = (value: unknown, field: string): JsonObject | undefined => {
  if (value === undefined || value === null) return undefined;
  if (!isObject(value)) throw invalid(field, 'must be an object.');
  checkJson(value, field);
  return Object.keys(value).length === 0 ? undefined : (value as JsonObject);
};

/**
 * Any JSON value that is kept as it came. `__proto__` as a key is refused: harmless here, it turns against the first
 * program behind us that copies it carelessly. Numbers beyond a double would be stored as null.
 */
export const checkJson = (value: unknown, field: string, depth = 1): void => {
  if (typeof value === 'string') checkText(value, field);
  else if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw invalid(field, 'is a number too large to keep: send it as a string.');
  } else if (typeof value === 'object' && value !== null) {
    if (depth > MAX_DEPTH) throw invalid(field, `nests deeper than ${MAX_DEPTH} levels: flatten it.`);
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index += 1) checkJson(value[index], `${field}[${index}]`, depth + 1);
      return;
    }
    for (const key of Object.keys(value)) {
      if (key === '__proto__') throw invalid(field, 'has a key "__proto__", which is not allowed: rename it.');
      checkText(key, `a key of ${field}`);
      checkJson((value as Fields)[key], `${field}.${key}`, depth + 1);
    }
  }
};
