/** Texts of which no answer may hold one. */
export interface Secrets {
  /** Whether any of them is in these bytes. */
  findIn(bytes: Buffer): string | undefined;
}

/** What was wrong with an answer, if anything, and in a word what it was. */
export interface Verdict {
  readonly complaints: readonly string[];
  /** `ok`, or the code of the refusal. */
  readonly word: string;
}

/** What only the inside of a program looks like. */
export const INSIDES =
  /<html|<!doctype|(?:\\n|\n) {4}at |node:internal|node_modules|packages\/sealane|\.(?:ts|js|mjs|cjs):\d+|SQLITE_|TypeError|RangeError|ReferenceError|SyntaxError/i;
