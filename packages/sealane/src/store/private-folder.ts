import { lstatSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

import { SealaneError } from '#domain';

/**
 * Makes a folder that nobody else may look into, and those above that are missing. One by one: left to itself, Node
 * tries for ever below a folder that takes none (`/proc`), and hides that a disk can only be read.
 */
export const makePrivateFolder = (folder: string): void => {
  if (isFolder(folder)) return;
  const above = dirname(folder);
  if (above !== folder) makePrivateFolder(above);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (cause) {
    // Somebody else may have made it meanwhile.
    if (isFolder(folder)) return;
    throw new SealaneError(
      'store-unwritable',
      `The folder ${folder} cannot be made: ${reasonOf(cause as NodeJS.ErrnoException, folder)}. ` +
        'Choose another data folder with --data-dir.',
      { cause },
    );
  }
};

const isFolder = (path: string): boolean => {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
};

const reasonOf = ({ code, message }: NodeJS.ErrnoException, folder: string): string => {
  switch (code ?? '') {
    case 'EEXIST':
      return lstatSync(folder).isSymbolicLink()
        ? 'it is a link to something that is not there, or is no folder'
        : 'there is a file of that name';
    case 'EROFS':
      return `${dirname(folder)} is on a disk that can only be read`;
    case 'EACCES':
    case 'EPERM':
      return `this user may not write in ${dirname(folder)}`;
    case 'ENOSPC':
    case 'EDQUOT':
      return 'the disk is full';
    case 'ENOENT':
      return `the system takes no folders in ${dirname(folder)}`;
    default:
      return code ?? message;
  }
};
