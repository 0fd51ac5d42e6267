/** The settings of a unit's section, each with all its lines. */
export const settingsOf = (unit: string): ReadonlyMap<string, readonly string[]> => {
  const settings = new Map<string, string[]>();
  for (const line of unit.split('\n')) {
    const [, name, value] = /^([A-Z]\w+)=(.*)$/.exec(line) ?? [];
    if (name !== undefined && value !== undefined) settings.set(name, [...(settings.get(name) ?? []), value]);
  }
  return settings;
};

/** What systemd makes of `ExecStart=`: words, escapes, then specifiers, then variables, in which none may be left. */
export const execWords = (line: string): readonly string[] =>
  splitWords(line).map((word, index) => {
    const text = withoutSpecifiers(word);
    return index === 0 ? text : withoutVariables(text);
  });

/** The same for `Environment=`, which knows no variables. */
export const environmentOf = (lines: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    lines.flatMap(splitWords).map((word) => {
      const [name = '', ...value] = withoutSpecifiers(word).split('=');
      return [name, value.join('=')];
    }),
  );

export const withoutSpecifiers = (word: string): string =>
  word.replaceAll(/%(.?)/g, (whole, next: string) => {
    if (next !== '%') throw new Error(`systemd would replace ${whole}`);
    return '%';
  });

const withoutVariables = (word: string): string =>
  word.replaceAll(/\$(.?)/g, (whole, next: string) => {
    if (next !== '$') throw new Error(`systemd would replace ${whole}`);
    return '$';
  });

const splitWords = (line: string): readonly string[] => {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (let at = 0; at < line.length; at += 1) {
    const char = line[at] ?? '';
    if (char === '\\') {
      const [, hex, plain] = /^\\(?:x([0-9a-f]{2})|([\\"']))/.exec(line.slice(at)) ?? [];
      if (hex === undefined && plain === undefined) throw new Error(`systemd does not know ${line.slice(at, at + 2)}`);
      word = (word ?? '') + (plain ?? String.fromCharCode(Number.parseInt(hex ?? '', 16)));
      at += hex === undefined ? 1 : 3;
    } else if (quote === '' ? /["']/.test(char) : char === quote) {
      quote = quote === '' ? char : '';
      word ??= '';
    } else if (quote === '' && /\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? '') + char;
  }
  if (quote !== '') throw new Error('a quote is not closed');
  return word === undefined ? words : [...words, word];
};
