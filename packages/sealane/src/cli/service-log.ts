import { pino, type Logger } from 'pino';

import { printable } from './printable.ts';

/** The service's log goes to stderr: lines of JSON for machines, short lines on a terminal. */
export const createServiceLog = (level: string): Logger =>
  process.stderr.isTTY
    ? pino({ level, base: null }, { write: (line: string) => void process.stderr.write(shorten(line)) })
    : pino({ level, base: null }, process.stderr);

interface LogLine extends Readonly<Record<string, unknown>> {
  readonly time: number;
  readonly level: number;
  readonly msg?: string;
  readonly err?: { readonly message?: string; readonly stack?: string };
}

const shorten = (line: string): string => {
  const { time, level, msg = '', err, ...facts } = JSON.parse(line) as LogLine;
  const clock = new Date(time).toISOString().slice(11, 19);
  const word = LEVELS[level] ?? 'info';
  const rest = Object.entries(facts).map(
    ([name, value]) => ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return printable(
    `${clock} ${word.padEnd(5)} ${msg}${rest.join('')}${err ? `\n${err.stack ?? err.message ?? ''}` : ''}\n`,
  );
};

const LEVELS: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
};
