import { basename } from 'node:path';

import type { Part } from '#domain';

import { beginningOf } from './text-chunks.ts';

const TYPES: Readonly<Record<string, string>> = {
  // Endings are what the agent makes them, also those of an object's own methods.
  __proto__: null as never,
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  svg: 'image/svg+xml',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  ogg: 'audio/ogg',
  opus: 'audio/opus',
  m4a: 'audio/mp4',
  mp4: 'video/mp4',
  webm: 'video/webm',
  pdf: 'application/pdf',
  json: 'application/json',
  csv: 'text/csv',
  md: 'text/markdown',
  txt: 'text/plain',
  html: 'text/html',
  zip: 'application/zip',
};

export const mediaTypeOf = (name: string, otherwise = 'application/octet-stream'): string =>
  TYPES[/\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase() ?? ''] ?? otherwise;

/** In base64, a file of this size fits into an event where nobody has set another limit: a larger one would fail its task. */
export const MAX_MEDIA_BYTES = 700_000;

/** Whether a file may be sent; a link always may. */
export const isSendable = ({ raw = '' }: Part, maxBytes: number): boolean =>
  Buffer.byteLength(raw, 'base64') <= maxBytes;

/** What callers can decode; a model may write anything. */
const isBase64 = (text: string): boolean => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);

/** What a file that was not sent is called: not its place, and not its content. */
export const unsentName = (place: string): string =>
  place.startsWith('data:') ? beginningOf(place.split(',', 1)[0] ?? '', 100) : beginningOf(basename(place), 300);

/** A file that an agent sends as a link, as a part of its answer; nothing for a path on its own machine. */
export const mediaPart = (place: string): Part | undefined => {
  const [, type, content] = /^data:([^;,]*);base64,(.*)$/s.exec(place) ?? [];
  if (content !== undefined && !isBase64(content)) return undefined;
  if (content !== undefined) return { raw: content, mediaType: type || 'application/octet-stream' };
  if (!/^https?:\/\//i.test(place) || !URL.canParse(place)) return undefined;
  const filename = decodeName(new URL(place).pathname.split('/').at(-1) ?? '');
  return { url: place, mediaType: mediaTypeOf(filename), ...(filename !== '' && { filename }) };
};

const decodeName = (name: string): string => {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
};
