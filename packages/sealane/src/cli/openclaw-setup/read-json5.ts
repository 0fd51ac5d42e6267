/**
 * Reads JSON5: JSON with comments, trailing commas, names without quotes and strings in either quote, as people write
 * the configuration of OpenClaw by hand. Throws a `SyntaxError` that names the line, and never a piece of the text: it
 * holds secrets.
 */
export const readJson5 = (text: string): unknown => {
  let at = 0;

  const wrong = (what: string): SyntaxError => new SyntaxError(`line ${text.slice(0, at).split('\n').length}: ${what}`);

  /** Takes what matches here. */
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    at += found?.length ?? 0;
    return found;
  };

  /** Takes this character, with the space and the comments around it. */
  const takeMark = (mark: string): boolean => {
    take(SPACE);
    if (text[at] !== mark) return false;
    at += 1;
    take(SPACE);
    return true;
  };

  const readItems = (end: string, readItem: () => void): void => {
    while (!takeMark(end)) {
      readItem();
      if (takeMark(',')) continue;
      if (!takeMark(end)) throw wrong(`"," or "${end}" is missing`);
      return;
    }
  };

  const readObject = (): Record<string, unknown> => {
    const entries: [string, unknown][] = [];
    readItems('}', () => {
      const name = readString() ?? take(NAME);
      if (name === undefined) throw wrong('the name of a setting is missing');
      if (!takeMark(':')) throw wrong('":" is missing');
      entries.push([name, readValue()]);
    });
    return Object.fromEntries(entries);
  };

  const readList = (): unknown[] => {
    const items: unknown[] = [];
    readItems(']', () => items.push(readValue()));
    return items;
  };

  const readString = (): string | undefined => {
    const whole = take(STRING);
    return whole?.slice(1, -1).replaceAll(ESCAPE, (_whole, code: string) => unescape(code));
  };

  const readValue = (): unknown => {
    if (takeMark('{')) return readObject();
    if (takeMark('[')) return readList();
    const string = readString();
    if (string !== undefined) return string;
    const word = take(WORD);
    if (word === undefined) throw wrong('a value is missing');
    if (word in WORDS) return WORDS[word];
    const number = /^[+-]/.test(word) ? Number(`${word[0]}1`) * Number(word.slice(1)) : Number(word);
    if (Number.isNaN(number)) throw wrong('this is no value');
    return number;
  };

  take(SPACE);
  const value = readValue();
  take(SPACE);
  if (at < text.length) throw wrong('there is more than one value');
  return value;
};

const SPACE = /(?:[\s\uFEFF]|\/\/[^\n\r]*|\/\*[^]*?\*\/)*/y;
const NAME = /[\p{L}_$][\p{L}\p{N}_$]*/uy;
const STRING = /"(?:[^"\\\n\r]|\\(?:\r\n|[^]))*"|'(?:[^'\\\n\r]|\\(?:\r\n|[^]))*'/y;
const WORD = /[\w.+-]+/y;
const ESCAPE = /\\(u[\dA-Fa-f]{4}|x[\dA-Fa-f]{2}|\r\n|[^])/g;

const WORDS: Readonly<Record<string, unknown>> = { __proto__: null, true: true, false: false, null: null };

const CONTROLS: Readonly<Record<string, string>> = {
  __proto__: null as never,
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  0: '\0',
};

const unescape = (code: string): string => {
  if (/^[ux]./.test(code)) return String.fromCodePoint(Number.parseInt(code.slice(1), 16));
  // A line that goes on.
  return /^[\n\r\u2028\u2029]/.test(code) ? '' : (CONTROLS[code] ?? code);
};
