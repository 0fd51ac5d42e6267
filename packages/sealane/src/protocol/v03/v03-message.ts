import type { JsonObject, Message, Part } from '#domain';

import { type Fields, findId, findMetadata, findTexts, invalid, requireFields, requireId } from '../field-reader.ts';
import { decodeTaggedParts, type PartTag, taggedPartOf } from './tagged-part.ts';

/** A caller's message of 0.3, checked and brought into its stored form. */
export const decodeV03Message = (value: unknown, field: string): Message => {
  const fields = requireFields(value, field);
  const kind = fields['kind'] ?? 'message';
  if (kind !== 'message') throw invalid(`${field}.kind`, 'must be "message".');
  const contextId = findId(fields['contextId'], `${field}.contextId`);
  const taskId = findId(fields['taskId'], `${field}.taskId`);
  const extensions = findTexts(fields['extensions'], `${field}.extensions`);
  const references = findTexts(fields['referenceTaskIds'], `${field}.referenceTaskIds`);
  return {
    messageId: requireId(fields['messageId'], `${field}.messageId`),
    ...decodeSpeech(fields, field, 'kind'),
    ...(contextId !== undefined && { contextId }),
    ...(taskId !== undefined && { taskId }),
    ...(extensions?.length && { extensions }),
    ...(references?.length && {
      referenceTaskIds: references.map((id, index) => requireId(id, `${field}.referenceTaskIds[${index}]`)),
    }),
  };
};

/** Who says what: all that messages of 0.3 and 0.1 have in common. */
export const decodeSpeech = (
  fields: Fields,
  field: string,
  tag: PartTag,
): { readonly role: 'ROLE_USER'; readonly parts: readonly Part[]; readonly metadata?: JsonObject } => {
  if (fields['role'] !== 'user') {
    throw invalid(`${field}.role`, 'must be "user": messages of agents are made by agents.');
  }
  const metadata = findMetadata(fields['metadata'], `${field}.metadata`);
  return {
    role: 'ROLE_USER',
    parts: decodeTaggedParts(fields['parts'], `${field}.parts`, tag),
    ...(metadata !== undefined && { metadata }),
  };
};

/** A message as 0.3 shows it. */
export const v03MessageOf = ({ role, parts, ...rest }: Message): object => ({
  kind: 'message',
  ...rest,
  role: legacyRoleOf(role),
  parts: parts.map((part) => taggedPartOf(part, 'kind')),
});

export const legacyRoleOf = (role: Message['role']): string => (role === 'ROLE_USER' ? 'user' : 'agent');
