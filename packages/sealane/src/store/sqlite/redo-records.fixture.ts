import { closeSync, openSync } from 'node:fs';

import { recordsOf, redoFileOf } from './redo-file.ts';

/** The records of the redo log of a database, from its first round: the statements of each batch. */
export const redoRecordsIn = (file: string): readonly (readonly unknown[])[] => {
  const fd = openSync(redoFileOf(file), 'r');
  try {
    return [...recordsOf(fd, 1)].map(({ text }) => (JSON.parse(text) as [number, unknown[]])[1]);
  } finally {
    closeSync(fd);
  }
};
