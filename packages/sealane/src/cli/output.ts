import { styleText } from 'node:util';

import type { CliError } from './cli-error.ts';
import { oneLine, printable } from './printable.ts';

type Style = Parameters<typeof styleText>[0];

export interface OutputOptions {
  readonly json: boolean;
  readonly quiet: boolean;
  readonly color: boolean;
}

/**
 * Where a command's words go. Results go to stdout, as text or as JSON; everything said along the way goes to stderr,
 * so that a pipe gets results only.
 */
export interface Output {
  readonly isJson: boolean;
  /** A person reads stdout. */
  readonly isTerminal: boolean;
  /** The result of a command: one JSON document, or lines of text. */
  result(value: unknown, asText: () => string | readonly string[]): void;
  /** One line of a stream of JSON documents. */
  document(value: unknown): void;
  /** Raw text of an agent, as it comes; documents carry it already with --json. */
  stream(text: string): void;
  line(text: string): void;
  /** For people, on stderr; silent with --quiet and --json. */
  note(text: string): void;
  /** A line on stderr that the next one replaces; only on a terminal. */
  progress(text: string): void;
  readonly style: (style: Style, text: string) => string;
  failure(error: CliError): void;
}

export const createOutput = ({ json, quiet, color }: OutputOptions): Output => {
  const { stdout, stderr } = process;
  const style = (stream: NodeJS.WriteStream) => (format: Style, text: string) =>
    color ? styleText(format, text, { stream }) : text;
  const onStderr = style(stderr);
  let hasProgress = false;
  const clearProgress = () => {
    if (hasProgress) stderr.write('\r\u001B[K');
    hasProgress = false;
  };
  return {
    isJson: json,
    isTerminal: stdout.isTTY,
    result: (value, asText) => {
      clearProgress();
      const text = json ? asJson(value, stdout.isTTY ? 2 : undefined) : asText();
      for (const line of typeof text === 'string' ? [text] : text) stdout.write(`${line}\n`);
    },
    document: (value) => void stdout.write(`${asJson(value)}\n`),
    stream: (text) => {
      if (!json) stdout.write(stdout.isTTY ? printable(text) : text);
    },
    line: (text) => void stdout.write(`${text}\n`),
    note: (text) => {
      clearProgress();
      if (!quiet && !json) stderr.write(`${onStderr('dim', printable(text))}\n`);
    },
    progress: (text) => {
      if (quiet || json || !stderr.isTTY) return;
      clearProgress();
      stderr.write(oneLine(text, (stderr.columns || 80) - 1));
      hasProgress = true;
    },
    style: style(stdout),
    failure: ({ code, message, next }) => {
      clearProgress();
      const asText = () =>
        `${onStderr('red', 'error:')} ${printable(message)}${next === undefined ? '' : `\nnext:  ${printable(next)}`}`;
      stderr.write(`${json ? asJson({ error: { code, message, ...(next !== undefined && { next }) } }) : asText()}\n`);
    },
  };
};

/** JSON that is safe on a terminal as well: it may carry DEL and C1 as they are, and some terminals obey those. */
const asJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, undefined, indent).replaceAll(
    // oxlint-disable-next-line no-control-regex
    /[\u007f-\u009f]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
