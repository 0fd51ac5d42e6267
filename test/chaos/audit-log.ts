import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

/**
 * What runs say about themselves, past the service and its store: one line when a run starts, at each step of its work
 * and when it ends. Appended with one write each, so lines of several processes do not mix, and what was written before
 * a kill stays.
 */
export interface AuditLine {
  readonly what: 'start' | 'step' | 'end';
  /** Milliseconds on the machine's monotonic clock, the same for all processes. */
  readonly at: number;
  readonly pid: number;
  /** The conversation whose runs must not overlap. */
  readonly lane: string;
  readonly task: string;
  readonly turn: number;
  readonly attempt: number;
  /** Only at the end: `completed`, `asked`, `failed`, or `aborted: <why>`. */
  readonly how?: string;
}

/** CLOCK_MONOTONIC: unlike `performance.now()` it has the same zero in every process. */
export const monotonicMs = (): number => Number(process.hrtime.bigint() / 1000n) / 1000;

export interface AuditWriter extends Disposable {
  write(line: Omit<AuditLine, 'at' | 'pid'>): void;
}

export const openAuditWriter = (file: string): AuditWriter => {
  const fd = openSync(file, 'a');
  return {
    write: (line) => {
      writeSync(fd, `${JSON.stringify({ ...line, at: monotonicMs(), pid: process.pid } satisfies AuditLine)}\n`);
    },
    [Symbol.dispose]: () => closeSync(fd),
  };
};

/** Everything written so far; a file that nobody has written yet is an empty log. */
export const readAudit = (file: string): readonly AuditLine[] => {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as AuditLine);
};
