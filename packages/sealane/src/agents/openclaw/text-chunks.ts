/** A long text is several events, each of which the service takes. */
const CHUNK_CHARS = 200_000;

/** The text in pieces that add up to it; none ends between the two halves of a character. */
export const textChunks = (text: string, size = CHUNK_CHARS): readonly string[] => {
  const chunks: string[] = [];
  for (let at = 0; at < text.length;) {
    const isSplit = /[\uD800-\uDBFF]/.test(text.charAt(at + size - 1));
    const end = at + size - (isSplit ? 1 : 0);
    chunks.push(text.slice(at, end));
    at = end;
  }
  return chunks;
};

/** How much of a text a status has room for. */
const STATUS_CHARS = 16 * 1024;

/** As much of a text as a status should carry, up to a whole character: a long error must not be too large to be told. */
export const beginningOf = (text: string, size = STATUS_CHARS): string =>
  textChunks(text.toWellFormed(), size)[0] ?? '';
