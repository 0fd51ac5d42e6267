import { SealaneError } from '#domain';

/** How deep JSON may nest, the body itself included. */
export const MAX_DEPTH = 64;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Parses a body. The depth is counted on the text, because a parsed value that is too deep has already cost what the
 * limit is there to save. Strings are crossed by `indexOf`, so a long text is nearly free.
 */
export const parseJson = (text: string): unknown => {
  const body = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  checkDepth(body);
  try {
    return JSON.parse(body) as unknown;
  } catch (error) {
    if (body.trim() === '') throw new SealaneError('parse-error', 'The body is empty: send a JSON object.');
    const why = error instanceof Error ? error.message : String(error);
    throw new SealaneError('parse-error', `The body is not JSON: ${why.toWellFormed()}`, { cause: error });
  }
};

const checkDepth = (text: string): void => {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at);
        break;
      case 0x5b: // [
      case 0x7b: // {
        depth += 1;
        if (depth > MAX_DEPTH) {
          throw new SealaneError('invalid-request', `The body nests deeper than ${MAX_DEPTH} levels: flatten it.`, {
            facts: { limit: String(MAX_DEPTH) },
          });
        }
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth -= 1;
        break;
      default:
    }
  }
};

/** The closing quote of the string that opens at `start`; the end of the text when it never closes. */
const endOfString = (text: string, start: number): number => {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
};
