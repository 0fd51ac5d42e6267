import type { Json, Message, Part } from '#domain';

/** A file as the `agent` method takes it. */
export interface ImageAttachment {
  readonly type: 'image';
  readonly mimeType: string;
  readonly fileName: string;
  /** base64 */
  readonly content: string;
}

/** A caller's message as OpenClaw can take it, or why it cannot. */
export type IncomingMessage =
  | { readonly ok: true; readonly text: string; readonly images: readonly ImageAttachment[] }
  | { readonly ok: false; readonly why: string };

const IS_TEXT = /^(text\/|application\/(json|xml|yaml|x-yaml|toml|javascript|sql)\b)/;

/**
 * OpenClaw's `agent` method takes a text and images. Text files and data are put into the text, a link is named in
 * it; any other file is refused, because an agent that silently never sees it would answer something else.
 */
export const incomingMessage = (message: Message): IncomingMessage => {
  const texts: string[] = [];
  const images: ImageAttachment[] = [];
  for (const part of message.parts) {
    const type = part.mediaType?.toLowerCase() ?? '';
    if (part.text !== undefined) texts.push(part.text);
    else if (part.data !== undefined) texts.push(jsonText(part.data));
    else if (part.url !== undefined) texts.push(`${nameOf(part)}: ${part.url}`);
    else if (part.raw !== undefined && type.startsWith('image/'))
      images.push({
        type: 'image',
        mimeType: type,
        fileName: part.filename ?? `image-${images.length + 1}`,
        content: part.raw,
      });
    else if (part.raw !== undefined && IS_TEXT.test(type))
      texts.push(`${nameOf(part)}:\n${Buffer.from(part.raw, 'base64').toString('utf8')}`);
    else return { ok: false, why: unreadable(part) };
  }
  const text = texts.join('\n\n');
  if (text.trim() === '' && images.length === 0)
    return { ok: false, why: 'The message is empty. Send a text or an image.' };
  return { ok: true, text: text.trim() === '' ? 'See the attached image.' : text, images };
};

/**
 * A text that begins with a slash could be a command to OpenClaw. With a backslash before it, it is what a remote
 * caller may send: text.
 */
export const withoutCommand = (text: string): string => (/^\s*\//.test(text) ? text.replace('/', '\\/') : text);

const jsonText = (data: Json): string => JSON.stringify(data, undefined, 2);

const nameOf = (part: Part): string => `File ${part.filename ?? part.mediaType ?? 'without a name'}`;

const unreadable = (part: Part): string =>
  `OpenClaw takes text, data, links, text files and images; ${part.filename ?? 'a file'} is ${part.mediaType ?? 'of no known type'}. Send its text, or a link to it.`;
