import { resolve } from 'node:path';

/** A path as people write it: `~` is the home folder, and anything relative starts at `base`. */
export const resolvePath = (path: string, from: { readonly base: string; readonly home: string }): string => {
  if (path === '~') return from.home;
  return path.startsWith('~/') || path.startsWith('~\\') ? resolve(from.home, path.slice(2)) : resolve(from.base, path);
};
