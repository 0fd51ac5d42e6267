import type { TurnEnd } from '#agents';
import {
  type Artifact,
  type Json,
  type JsonObject,
  type Message,
  type Part,
  SealaneError,
  standardBase64,
} from '#domain';

/**
 * Agents are other people's code, and whoever asks for a task reads again what they said: words of another shape are
 * refused before they get into the log, where every reader would stumble over them. Each check answers about how many
 * bytes the words weigh.
 */
export const weighMessage = (message: Message): number => {
  if (!isObject(message)) throw wrong('a message', 'an object: io.say(text) makes one');
  const { messageId, role, parts, contextId, taskId, extensions, referenceTaskIds, metadata } = message;
  if (typeof messageId !== 'string' || messageId === '') throw wrong('messageId', 'a string that is not empty');
  if (role !== 'ROLE_AGENT' && role !== 'ROLE_USER') throw wrong('role', 'ROLE_AGENT');
  checkStrings(extensions, 'extensions');
  checkStrings(referenceTaskIds, 'referenceTaskIds');
  return weighParts(parts) + weighText(contextId, 'contextId') + weighText(taskId, 'taskId') + weighMetadata(metadata);
};

export const weighArtifact = (artifact: Artifact): number => {
  if (!isObject(artifact)) throw wrong('artifact', 'an object with artifactId and parts');
  const { artifactId, parts, name, description, extensions, metadata } = artifact;
  if (typeof artifactId !== 'string' || artifactId === '') throw wrong('artifactId', 'a string that is not empty');
  checkStrings(extensions, 'extensions');
  return (
    artifactId.length +
    weighParts(parts) +
    weighText(name, 'name') +
    weighText(description, 'description') +
    weighMetadata(metadata)
  );
};

export const weighMetadata = (metadata: JsonObject | undefined, field = 'metadata'): number => {
  if (metadata === undefined) return 0;
  if (!isObject(metadata)) throw wrong(field, 'an object');
  return weighData(metadata, field);
};

/**
 * An agent may use the same objects for its next words, before these are written. Only what was weighed is copied. Half
 * a character, which no client can read, becomes U+FFFD.
 */
export const copyWords = <T extends Message | Artifact>(words: T): T => ({
  ...words,
  parts: words.parts.map((part) => ({
    ...part,
    ...(part.text !== undefined && { text: part.text.toWellFormed() }),
    ...(part.raw !== undefined && { raw: standardBase64(part.raw) ?? '' }),
    ...(part.data !== undefined && { data: copyJson(part.data) }),
    ...(part.metadata && { metadata: copyJson(part.metadata) }),
  })),
  ...(words.metadata && { metadata: copyJson(words.metadata) }),
});

export const copyJson = <T extends Json>(json: T): T => {
  const text = JSON.stringify(json);
  // JSON writes half a character as an escape, and nothing else that begins like that but an escaped backslash.
  return (text.includes('\\ud') ? JSON.parse(text, wellFormed) : JSON.parse(text)) as T;
};

const wellFormed = (_name: string, value: unknown): unknown =>
  typeof value === 'string' ? value.toWellFormed() : value;

const END_STATES: Readonly<Record<TurnEnd['state'], true>> = {
  completed: true,
  failed: true,
  canceled: true,
  rejected: true,
  'input-required': true,
  'auth-required': true,
};

export const weighEnd = (end: TurnEnd): number => {
  if (!isObject(end)) throw wrong('the end of a turn', "an object, like { state: 'completed' }");
  const { state, message, reason, metadata } = end;
  if (!Object.hasOwn(END_STATES, state)) {
    throw wrong('the state at the end of a turn', `one of ${Object.keys(END_STATES).join(', ')}`);
  }
  return (message === undefined ? 0 : weighMessage(message)) + weighText(reason, 'reason') + weighMetadata(metadata);
};

/** The longest text of an error that its task carries. */
const ERROR_TEXT = 16 * 1024;

const NO_WORDS = 'The agent failed and did not say why.';

/** What somebody threw, in words; anything can be thrown, also what cannot be shown. */
export const textOfThrown = (thrown: unknown): string => {
  try {
    const said = thrown instanceof SealaneError ? (thrown.forCallers ?? thrown.message) : undefined;
    const text: unknown = said ?? (thrown instanceof Error ? thrown.message : (thrown ?? ''));
    return String(text).slice(0, ERROR_TEXT).toWellFormed() || NO_WORDS;
  } catch {
    return NO_WORDS;
  }
};

const weighParts = (parts: readonly Part[]): number => {
  if (!Array.isArray(parts)) throw wrong('parts', 'an array');
  let bytes = 0;
  for (const part of parts as readonly Part[]) bytes += weighPart(part);
  return bytes;
};

const weighPart = (part: Part): number => {
  if (!isObject(part)) throw wrong('a part', 'an object, like { text }');
  const { text, raw, url, data, mediaType, filename, metadata } = part;
  if ([text, raw, url, data].filter((content) => content !== undefined).length > 1) {
    throw wrong('a part', 'one of text, raw, url and data, and not several of them');
  }
  if (typeof raw === 'string' && standardBase64(raw) === undefined) {
    throw wrong('raw', "base64, like Buffer.from(bytes).toString('base64')");
  }
  return (
    weighText(text, 'text') +
    weighText(raw, 'raw') +
    weighText(url, 'url') +
    weighText(mediaType, 'mediaType') +
    weighText(filename, 'filename') +
    weighData(data, 'data') +
    weighMetadata(metadata)
  );
};

const weighText = (text: string | undefined, field: string): number => {
  if (text === undefined) return 0;
  if (typeof text !== 'string') throw wrong(field, 'a string');
  return text.length;
};

const weighData = (data: unknown, field: string): number => {
  if (data === undefined) return 0;
  let text: string | undefined;
  try {
    text = JSON.stringify(data);
  } catch (error) {
    throw wrong(field, 'JSON', error);
  }
  if (text === undefined) throw wrong(field, 'JSON');
  return text.length;
};

const checkStrings = (words: readonly string[] | undefined, field: string): void => {
  if (words === undefined) return;
  if (!Array.isArray(words) || words.some((word) => typeof word !== 'string'))
    throw wrong(field, 'an array of strings');
};

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

const wrong = (field: string, wish: string, cause?: unknown): SealaneError =>
  new SealaneError('invalid-agent-response', `The agent said something that is not valid: ${field} must be ${wish}.`, {
    cause,
    facts: { field },
  });

/** What an agent gave or threw may be impossible to show: then nothing is shown. */
export const unlessItThrows = <T>(show: () => T): T | undefined => {
  try {
    return show();
  } catch {
    return undefined;
  }
};
