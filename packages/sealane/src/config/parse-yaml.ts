import { createRequire } from 'node:module';

import type * as Yaml from 'yaml';

/** Most services have no file, and the parser would stay in memory for nothing. */
const yaml = (): typeof Yaml => createRequire(import.meta.url)('yaml') as typeof Yaml;

export type SettingPath = readonly (string | number)[];

export interface ParsedYaml {
  /** Plain data without an alias in it; nothing when there are mistakes. */
  readonly data: unknown;
  readonly mistakes: readonly { readonly line?: number; readonly message: string }[];
  /** The line of a setting, or of the deepest part of its path that the text has. */
  readonly lineOf: (path: SettingPath) => number;
  /** A value as it stands in the text, and whether it stands there without quotes. */
  readonly writtenAt: (path: SettingPath) => { readonly source: string; readonly isPlain: boolean } | undefined;
}

/** Text to data. Whatever the parser says or throws of the text is a mistake that can be told. */
export const parseYaml = (text: string): ParsedYaml => {
  const { isScalar, LineCounter, parseDocument } = yaml();
  const lines = new LineCounter();
  const refused = (...mistakes: ParsedYaml['mistakes']): ParsedYaml => ({
    data: undefined,
    mistakes,
    lineOf: () => 1,
    writtenAt: () => undefined,
  });
  try {
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
    const mistakes = [
      ...document.errors.map(({ code, message, pos }) => ({
        at: pos[0],
        message: SENTENCES[code] ?? invalid(message),
      })),
      ...unknownAliases(document),
    ];
    if (mistakes.length > 0)
      return refused(...mistakes.map(({ at, message }) => ({ line: lines.linePos(at).line, message })));
    const data: unknown = document.toJS();
    if (isEndless(data)) return refused({ message: 'contains itself, by an alias like `*name`. Write it out.' });
    return {
      data,
      mistakes: [],
      lineOf: (path) => lineIn(document, lines, path),
      writtenAt: (path) => {
        const node = document.getIn(path, true);
        return isScalar(node) && node.source !== undefined
          ? { source: node.source, isPlain: node.type === 'PLAIN' }
          : undefined;
      },
    };
  } catch (error) {
    // What aliases lead to is counted, so that a few lines cannot become more than the memory holds.
    if (error instanceof ReferenceError)
      return refused({ message: 'repeats too much of itself by aliases like `*name`. Write it out.' });
    return refused({ message: invalid(error instanceof Error ? error.message : String(error)) });
  }
};

const invalid = (message: string): string => `is not valid YAML: ${message}`;

/** Where the parser speaks to programmers. */
const SENTENCES: Partial<Record<Yaml.ErrorCode, string>> = {
  MULTIPLE_DOCS: 'has a second document, after a line `---`: keep one.',
};

/** In one pass: the parser would look through the whole text for each. */
const unknownAliases = (document: Yaml.Document): readonly { readonly at: number; readonly message: string }[] => {
  const { isAlias, visit } = yaml();
  const anchors = new Set<string>();
  const unknown: { readonly at: number; readonly message: string }[] = [];
  visit(document, {
    Node: (_key, node) => {
      if (!isAlias(node)) {
        if (node.anchor !== undefined) anchors.add(node.anchor);
      } else if (!anchors.has(node.source)) {
        const message = `has the alias *${node.source}, which nothing before it defines: write "*${node.source}" in quotes if it is a text.`;
        unknown.push({ at: node.range?.[0] ?? 0, message });
      }
    },
  });
  return unknown;
};

const lineIn = (document: Yaml.Document, lines: Yaml.LineCounter, path: SettingPath): number => {
  const { isMap, isScalar } = yaml();
  for (let depth = path.length; depth > 0; depth -= 1) {
    const parent = document.getIn(path.slice(0, depth - 1), true) ?? document.contents;
    const key = path[depth - 1];
    const pair = isMap(parent)
      ? parent.items.find((item) => isScalar(item.key) && String(item.key.value) === String(key))
      : undefined;
    const node = pair?.key ?? document.getIn(path.slice(0, depth), true);
    if (isScalar(node) && node.range) return lines.linePos(node.range[0]).line;
  }
  return 1;
};

/** JSON is written of what has an end. */
const isEndless = (data: unknown): boolean => {
  try {
    JSON.stringify(data);
    return false;
  } catch {
    return true;
  }
};
