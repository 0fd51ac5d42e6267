import { closeSync, openSync } from 'node:fs';

/** Makes an empty file that nobody else may read, for those who would let everybody. One that is there is left as it is. */
export const makePrivateFile = (file: string): void => {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
};
