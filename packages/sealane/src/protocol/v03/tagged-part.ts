import type { JsonObject, Part } from '#domain';

import { checkJson, type Fields, findMetadata, findText, invalid, isObject, requireFields } from '../field-reader.ts';
import { decodeBase64, MAX_PARTS } from '../message-decoder.ts';

/** The member by which older dialects tell parts apart: `kind` in 0.3 and 0.2, `type` in 0.1. All else is alike. */
export type PartTag = 'kind' | 'type';

const SHAPES = ['text', 'file', 'data'] as const;
type Shape = (typeof SHAPES)[number];

/** Older dialects take only objects as data. This mark, which the official SDKs use too, says that one was put around. */
const WRAPPED = 'data_part_compat';

export const decodeTaggedParts = (value: unknown, field: string, tag: PartTag): readonly Part[] => {
  if (!Array.isArray(value) || value.length === 0) throw invalid(field, 'must be an array of at least one part.');
  if (value.length > MAX_PARTS) throw invalid(field, `has more than ${MAX_PARTS} parts.`);
  return value.map((part: unknown, index) => decodeTaggedPart(part, `${field}[${index}]`, tag));
};

const decodeTaggedPart = (value: unknown, field: string, tag: PartTag): Part => {
  if (!isObject(value)) throw invalid(field, 'must be an object: a text, a file or data.');
  const metadata = findMetadata(value['metadata'], `${field}.metadata`);
  const shape = shapeOf(value, field, tag);
  if (shape === 'data') return decodeData(value['data'], metadata, field);
  const content = shape === 'text' ? decodeText(value['text'], field) : decodeFile(value['file'], `${field}.file`);
  return metadata === undefined ? content : { ...content, metadata };
};

/** Its tag says what a part is, or the tag of the other dialect; without one its only member does. */
const shapeOf = (fields: Fields, field: string, tag: PartTag): Shape => {
  const named = fields[tag] ?? fields[tag === 'kind' ? 'type' : 'kind'] ?? undefined;
  if (named === undefined) {
    const [only, ...others] = SHAPES.filter((shape) => fields[shape] !== undefined && fields[shape] !== null);
    if (only === undefined || others.length > 0) throw invalid(`${field}.${tag}`, 'is missing: say what the part is.');
    return only;
  }
  const shape = SHAPES.find((known) => known === named);
  if (shape === undefined) throw invalid(`${field}.${tag}`, 'must be "text", "file" or "data".');
  return shape;
};

const decodeText = (value: unknown, field: string): Part => {
  const text = findText(value, `${field}.text`);
  if (text === undefined) throw invalid(`${field}.text`, 'is missing: give a string.');
  return { text };
};

const decodeFile = (value: unknown, field: string): Part => {
  const file = requireFields(value, field);
  const bytes = findText(file['bytes'], `${field}.bytes`);
  const uri = findText(file['uri'], `${field}.uri`);
  if ((bytes === undefined) === (uri === undefined)) throw invalid(field, 'must have either bytes or uri.');
  if (uri !== undefined && !URL.canParse(uri)) throw invalid(`${field}.uri`, 'must be an absolute URL.');
  const mediaType = findText(file['mimeType'], `${field}.mimeType`, 256);
  const filename = findText(file['name'], `${field}.name`, 1024);
  return {
    ...(bytes !== undefined && { raw: decodeBase64(bytes, `${field}.bytes`) }),
    ...(uri !== undefined && { url: uri }),
    ...(mediaType && { mediaType }),
    ...(filename && { filename }),
  };
};

const decodeData = (value: unknown, metadata: JsonObject | undefined, field: string): Part => {
  const data = requireFields(value, `${field}.data`) as JsonObject;
  checkJson(data, `${field}.data`);
  if (metadata?.[WRAPPED] === true && 'value' in data) {
    const { [WRAPPED]: _mark, ...rest } = metadata;
    return { data: data['value'] ?? null, ...(Object.keys(rest).length > 0 && { metadata: rest }) };
  }
  return { data, ...(metadata !== undefined && { metadata }) };
};

/** A part as an older dialect shows it. What such a part has no member for (the media type of a text) is left out. */
export const taggedPartOf = (part: Part, tag: PartTag): object => {
  const { text, raw, url, data, mediaType, filename, metadata } = part;
  if (text !== undefined) return { [tag]: 'text', text, ...(metadata && { metadata }) };
  if (raw !== undefined || url !== undefined) {
    const file = {
      ...(raw === undefined ? { uri: url } : { bytes: raw }),
      ...(mediaType && { mimeType: mediaType }),
      ...(filename && { name: filename }),
    };
    return { [tag]: 'file', file, ...(metadata && { metadata }) };
  }
  if (isObject(data)) return { [tag]: 'data', data, ...(metadata && { metadata }) };
  return { [tag]: 'data', data: { value: data ?? null }, metadata: { ...metadata, [WRAPPED]: true } };
};
