import type { Stats } from 'node:fs';

/** What lies under a name in place of a file, in words; `undefined` for a file. */
export const otherKindOf = (facts: Stats): 'a folder' | 'a pipe' | 'a socket' | 'a device' | undefined => {
  if (facts.isFile()) return undefined;
  if (facts.isDirectory()) return 'a folder';
  if (facts.isFIFO()) return 'a pipe';
  return facts.isSocket() ? 'a socket' : 'a device';
};
