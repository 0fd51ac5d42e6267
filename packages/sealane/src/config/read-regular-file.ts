import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats, statSync } from 'node:fs';

import { otherKindOf } from './file-kind.ts';

/** Something else lies where a file was wanted. */
export class NotAFileError extends Error {
  override readonly name = 'NotAFileError';
  readonly kind: NonNullable<ReturnType<typeof otherKindOf>>;

  constructor(path: string, kind: NotAFileError['kind']) {
    super(`${path} is ${kind}`);
    this.kind = kind;
  }
}

/**
 * Reads a file, or what a link leads to, and never waits: a pipe that nobody writes to would hold up the whole process,
 * a running service with all its answers. Whatever takes the name between the two looks is opened without waiting.
 */
export const readRegularFile = (path: string): string => {
  requireRegular(path, statSync(path));
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    requireRegular(path, fstatSync(descriptor));
    return readFileSync(descriptor, 'utf8');
  } finally {
    closeSync(descriptor);
  }
};

const requireRegular = (path: string, facts: Stats): void => {
  const kind = otherKindOf(facts);
  if (kind !== undefined) throw new NotAFileError(path, kind);
};
