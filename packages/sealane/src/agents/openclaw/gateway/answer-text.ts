/** What to tell readers so that they have the whole text. */
export interface TextChunk {
  readonly text: string;
  /** False: it replaces what they have. */
  readonly append: boolean;
}

/**
 * The answer of a run while it grows. OpenClaw sends each piece of it (before and after a tool call, say) under a
 * name and whole so far, and may change its mind about it; readers get what is new, or the whole again when what they
 * have is no longer a beginning of it. However events repeat or get lost, the text is never doubled and never short.
 */
export interface AnswerText {
  /** The text so far of one piece; pieces stand in the order of their first mention. */
  set(piece: string, text: string): void;
  /** Nothing of what was said counts any more; the next chunk replaces it. */
  reset(): void;
  /** Without half a character at its end. */
  whole(): string;
  /** What readers lack, which they are then taken to have. */
  next(): TextChunk | undefined;
}

export const createAnswerText = (): AnswerText => {
  const pieces = new Map<string, string>();
  let told: string | undefined;
  const whole = (): string => characters([...pieces.values()].filter((text) => text.trim() !== '').join('\n\n'));
  return {
    set: (piece, text) => void pieces.set(piece, text),
    reset: () => pieces.clear(),
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

/** The whole characters of a text that may end in the middle of one: half of one is told when the other is there. */
const characters = (text: string): string => {
  const isCut = /[\uD800-\uDBFF]/.test(text.at(-1) ?? '');
  return (isCut ? text.slice(0, -1) : text).toWellFormed();
};
