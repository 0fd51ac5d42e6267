import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, link, open, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { SealaneError } from '#domain';
import { makePrivateFolder } from '#store/private-folder';

import { otherKindOf } from './file-kind.ts';

/** Its usual name; a folder that also holds other things may want another. */
const FILE_NAME = 'admin.key';

export const adminKeyFile = (dataDir: string, fileName = FILE_NAME): string => join(dataDir, fileName);

/** The operator's key of this data folder; the first call makes folder and key, readable only by the user. */
export const ensureAdminKey = async (dataDir: string, fileName = FILE_NAME): Promise<string> => {
  makePrivateFolder(dataDir);
  const known = await findAdminKey(dataDir, fileName);
  if (known !== undefined) return known;
  const target = adminKeyFile(dataDir, fileName);
  const draft = `${target}.${process.pid}.${randomBytes(4).toString('hex')}.tmp`;
  try {
    await writeDurably(draft, `sl_${randomBytes(24).toString('base64url')}\n`);
    await publish(draft, target);
  } finally {
    await rm(draft, { force: true });
  }
  // Whoever was first has made the key; everybody reads the same one.
  const made = await findAdminKey(dataDir, fileName);
  if (made === undefined)
    throw new SealaneError('store-unwritable', `${target} was removed while it was made: start again.`);
  return made;
};

/** The key, if the folder has one. Refuses a file that other users can read. */
export const findAdminKey = async (dataDir: string, fileName = FILE_NAME): Promise<string | undefined> => {
  const file = adminKeyFile(dataDir, fileName);
  try {
    const facts = await stat(file);
    const otherKind = otherKindOf(facts);
    // A pipe would be waited for without an end.
    if (otherKind !== undefined)
      throw new SealaneError(
        'bad-config',
        `${file} is ${otherKind}, not a file. Remove it; the next start makes a new key.`,
        { facts: { file } },
      );
    if (process.platform !== 'win32' && (facts.mode & 0o077) !== 0) {
      throw new SealaneError('bad-config', `Other users can read the admin key in ${file}. Type: chmod 600 ${file}`, {
        facts: { file },
      });
    }
    const key = (await readFile(file, 'utf8')).trim();
    if (key === '')
      throw new SealaneError(
        'bad-config',
        `${file} is empty. Delete it (rm ${file}); the next start makes a new key.`,
        { facts: { file } },
      );
    return key;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    if ((error as NodeJS.ErrnoException).code === 'EACCES') {
      throw new SealaneError(
        'bad-config',
        `The admin key in ${file} belongs to another user. Run this as its owner, or choose another folder with --data-dir.`,
        { cause: error },
      );
    }
    throw error;
  }
};

const writeDurably = async (file: string, text: string): Promise<void> => {
  try {
    await using handle = await open(file, 'wx', 0o600);
    await handle.writeFile(text);
    await handle.sync();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new SealaneError(
      'store-unwritable',
      `The admin key cannot be written to ${file} (${code}). Make the folder writable, or choose another with --data-dir.`,
      { cause: error },
    );
  }
};

/** Puts the whole file in place at once, unless there is one: a reader never sees half a key. */
const publish = async (draft: string, target: string): Promise<void> => {
  try {
    await link(draft, target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return;
    // Some file systems have no hard links.
    await copyFile(draft, target, constants.COPYFILE_EXCL).catch((failure: NodeJS.ErrnoException) => {
      if (failure.code !== 'EEXIST') throw failure;
    });
  }
};
