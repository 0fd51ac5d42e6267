import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { basename, isAbsolute, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { Part } from '#domain';

import { mediaPart, mediaTypeOf } from '../media-parts.ts';

export interface MediaPlaces {
  /** Files elsewhere are never opened. */
  readonly roots: readonly string[];
  /** Where relative paths start. */
  readonly workspace?: string;
  readonly maxBytes: number;
}

/**
 * A file that a run sends, as a part. A link stays a link. A path is the model's word, and could name any file at all:
 * it is read only if the file that it leads to, behind all links, lies in one of the roots.
 */
export const readLocalMedia = async (
  place: string,
  { roots, workspace, maxBytes }: MediaPlaces,
): Promise<Part | undefined> => {
  const linked = mediaPart(place);
  if (linked) return linked;
  try {
    const path = pathOf(place, workspace);
    if (path === undefined) return undefined;
    const real = await realpath(path);
    const realRoots = await Promise.all(roots.map((root) => realpath(root).catch(() => undefined)));
    if (!realRoots.some((root) => root !== undefined && isInside(root, real))) return undefined;
    // Between the look and the open somebody may put a link or a pipe there: neither is followed or waited for.
    await using file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const found = await file.stat();
    if (!found.isFile() || found.size > maxBytes) return undefined;
    const content = await file.readFile();
    if (content.length > maxBytes) return undefined;
    const filename = basename(path);
    return { raw: content.toString('base64'), mediaType: mediaTypeOf(filename), filename };
  } catch {
    return undefined;
  }
};

const pathOf = (place: string, workspace: string | undefined): string | undefined => {
  if (place.startsWith('file:')) return fileURLToPath(place);
  if (/^[a-z][a-z0-9+.-]*:/i.test(place)) return undefined;
  if (isAbsolute(place)) return place;
  return workspace === undefined ? undefined : resolve(workspace, place);
};

const isInside = (root: string, path: string): boolean => {
  const way = relative(root, path);
  return way !== '' && way !== '..' && !way.startsWith('../') && !isAbsolute(way);
};
