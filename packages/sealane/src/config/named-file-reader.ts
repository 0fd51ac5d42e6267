import { readFileSync } from 'node:fs';

import { NotAFileError, readRegularFile } from './read-regular-file.ts';

/** How a file is read that somebody named: the first time, and when it may have changed since. */
export interface NamedFileReader {
  readonly read: (path: string) => string;
  readonly readAgain: (path: string) => string;
}

/**
 * A pipe can be meant, as in `--config <(…)`, but it says only once what it has to say, and a second look could wait for
 * ever. So it is read once, and what it said is what is found there from then on.
 */
export const createNamedFileReader = (): NamedFileReader => {
  const piped = new Map<string, string>();
  const reader = (mayWait: boolean) => (path: string) => {
    try {
      return readRegularFile(path);
    } catch (error) {
      if (!(error instanceof NotAFileError)) throw error;
      const isStream = error.kind === 'a pipe' || error.kind === 'a device';
      const text = piped.get(path) ?? (mayWait && isStream ? readFileSync(path, 'utf8') : undefined);
      if (text === undefined) throw error;
      piped.set(path, text);
      return text;
    }
  };
  return { read: reader(true), readAgain: reader(false) };
};
