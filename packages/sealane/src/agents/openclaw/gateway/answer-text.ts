/** What to tell readers so that they have the whole text. */
export interface TextChunk {
  readonly text: string;
  /** False: it replaces what they have. */
  readonly append: boolean;
}

/**
 * Who tells of a piece; each has names of its own for pieces. What stands before a tool call OpenClaw may tell as
 * words of the answer, as a preamble without its line breaks, or first so and then so, as its timing has it.
 */
export type Teller = 'stream' | 'preamble' | 'transcript';

/**
 * The answer of a run while it grows. OpenClaw sends each piece of it (before and after a tool call, say) under a
 * name and whole so far, and may change its mind about it; readers get what is new, or the whole again when what they
 * have is no longer a beginning of it. However events repeat or get lost, the text is never doubled and never short.
 */
export interface AnswerText {
  /** The text so far of one piece; pieces stand in the order of their first mention. */
  set(name: string, text: string, teller?: Teller): void;
  /** What comes now under a new name is a new piece, even if it says the same. */
  endPiece(): void;
  /** The last piece is this, whatever was told of it; where that has ended with other words, this is a new one. */
  setLast(text: string): void;
  /** Nothing of what was said counts any more; the next chunk replaces it. */
  reset(): void;
  /** Without half a character at its end. */
  whole(): string;
  /** What readers lack, which they are then taken to have. */
  next(): TextChunk | undefined;
}

interface Piece {
  readonly names: Map<Teller, string>;
  text: string;
}

export const createAnswerText = (): AnswerText => {
  const pieces: Piece[] = [];
  let hasEnded = false;
  let told: string | undefined;
  const whole = (): string =>
    characters(
      pieces
        .map(({ text }) => text)
        .filter((text) => text.trim() !== '')
        .join('\n\n'),
    );
  const add = (): Piece => {
    const piece: Piece = { names: new Map(), text: '' };
    pieces.push(piece);
    hasEnded = false;
    return piece;
  };
  /** The piece of that name, or the last one if somebody else has told of it so far. */
  const find = (name: string, text: string, teller: Teller): Piece | undefined => {
    const known = pieces.findLast(({ names }) => names.get(teller) === name);
    const last = pieces.at(-1);
    return known ?? (last && !hasEnded && !last.names.has(teller) && isAlike(last.text, text) ? last : undefined);
  };
  return {
    set: (name, text, teller = 'stream') => {
      const known = find(name, text, teller);
      const piece = known ?? add();
      piece.text = known && teller === 'preamble' ? withRest(known, text) : text;
      piece.names.set(teller, name);
    },
    endPiece: () => void (hasEnded = true),
    setLast: (text) => {
      const last = pieces.at(-1);
      const piece = last && (!hasEnded || isAlike(last.text, text)) ? last : add();
      piece.text = text;
    },
    reset: () => {
      pieces.length = 0;
      hasEnded = false;
    },
    whole,
    next: () => {
      const text = whole();
      if (text === (told ?? '')) return undefined;
      const append = told !== undefined && told !== '' && text.startsWith(told);
      const chunk = { text: append ? text.slice(told?.length) : text, append };
      told = text;
      return chunk;
    },
  };
};

const inOneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

/** One is the beginning of the other, apart from line breaks. */
const isAlike = (one: string, other: string): boolean => {
  const [a, b] = [inOneLine(one), inOneLine(other)];
  return a !== '' && b !== '' && (a.startsWith(b) || b.startsWith(a));
};

/** A preamble has lost its line breaks, so of words that the stream has told only what is missing is taken from it. */
const withRest = ({ text, names }: Piece, preamble: string): string => {
  const known = inOneLine(text);
  if (preamble.startsWith(known))
    return preamble.length > known.length ? text.trimEnd() + preamble.slice(known.length) : text;
  return names.has('preamble') && names.size === 1 ? preamble : text;
};

/** The whole characters of a text that may end in the middle of one: half of one is told when the other is there. */
const characters = (text: string): string => {
  const isCut = /[\uD800-\uDBFF]/.test(text.at(-1) ?? '');
  return (isCut ? text.slice(0, -1) : text).toWellFormed();
};
