import { randomBytes } from 'node:crypto';
import { closeSync, openSync, renameSync } from 'node:fs';
import { link, lstat, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

import { otherKindOf } from '#config';

import { CliError } from './cli-error.ts';
import { removeWhenStopped } from './remove-when-stopped.ts';

interface NewFileOptions {
  /** Replaces a file that exists; nothing else is replaced. */
  readonly force: boolean;
  /** Looks at the whole content before it gets its name; throws to refuse it. */
  readonly verify?: (draft: string) => Promise<void> | void;
}

/**
 * Writes a file that nobody else can read, and gives it its name only when it is complete and on disk: what is there
 * under the name is never half a file, and never somebody else's that was overwritten by accident.
 */
export const writeNewFile = async (
  target: string,
  options: NewFileOptions,
  content: AsyncIterable<Uint8Array>,
): Promise<void> =>
  makeNewFile(target, options, async (draft) => {
    await using file = await open(draft, 'r+');
    for await (const chunk of content) await file.writeFile(chunk);
    await file.sync();
  });

/** The same for content that is written by somebody who wants a path. */
export const makeNewFile = async (
  target: string,
  { force, verify }: NewFileOptions,
  make: (draft: string) => Promise<void>,
): Promise<void> => {
  const obstacle = await obstacleAt(target, force);
  if (obstacle) throw obstacle;
  const draft = `${target}.${randomBytes(4).toString('hex')}.part`;
  using _draft = removeWhenStopped(draft, `${draft}-journal`);
  try {
    // Made here, since others would let everybody read it.
    await (await open(draft, 'wx', 0o600)).close();
    await make(draft);
    await verify?.(draft);
    await (force ? rename(draft, target) : linkOrRename(draft, target));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST')
      throw (await obstacleAt(target, false)) ?? alreadyThere(target);
    throw writeError(error, target);
  } finally {
    // A path that cannot be written has no draft either.
    await rm(draft, { force: true }).catch(() => undefined);
  }
};

/** A link never replaces a file. Where there are none, as on a memory stick, the name is taken first. */
const linkOrRename = async (draft: string, target: string): Promise<void> => {
  try {
    await link(draft, target);
  } catch (error) {
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes((error as NodeJS.ErrnoException).code ?? ''))
      throw error;
    // In one go, so that no signal finds the name taken and nothing in it.
    closeSync(openSync(target, 'wx', 0o600));
    renameSync(draft, target);
  }
};

/** What SQLite says when the disk is full, for drafts that it writes. */
const SQLITE_FULL = 13;

/** A failure of writing a file, with where the trouble is; other failures, of the line or of the content, as they are. */
export const writeError = (cause: unknown, target: string): unknown => {
  if (!(cause instanceof Error) || cause instanceof CliError) return cause;
  const error: NodeJS.ErrnoException & { readonly errcode?: number } = cause;
  const refusal = (code: 'storage-full' | 'store-unwritable', message: string, next?: string) =>
    new CliError(code, message, { cause: error, next });
  const elsewhere = 'choose another place for the file';
  if (error.errcode === SQLITE_FULL) return refusal('storage-full', `There is no space left for ${target}.`, elsewhere);
  if (typeof error.errno !== 'number') return error;
  const code = error.code ?? error.message;
  switch (code) {
    case 'EISDIR':
      return refusal('store-unwritable', `${target} is a folder.`, 'name a file in it');
    case 'ENOENT':
    case 'ENOTDIR':
      return refusal('store-unwritable', `There is no folder ${dirname(target)}.`, 'make it, or choose another place');
    case 'ENOSPC':
    case 'EDQUOT':
      return refusal('storage-full', `There is no space left for ${target}.`, elsewhere);
    default:
      return refusal('store-unwritable', `${target} cannot be written (${code}).`, elsewhere);
  }
};

/** Only a file is ever replaced: a pipe or a device has its name for others to find it, who would find a file then. */
const obstacleAt = async (target: string, force: boolean): Promise<CliError | undefined> => {
  const facts = await stat(target).catch(() => undefined);
  const otherKind = facts && otherKindOf(facts);
  if (otherKind !== undefined)
    return new CliError('store-unwritable', `${target} is ${otherKind}.`, {
      next: otherKind === 'a folder' ? 'name a file in it' : 'choose another name: only a file can be replaced',
    });
  if (!facts) return undefined;
  if (!force) return alreadyThere(target);
  // Its name would be given to the new file, and what it leads to would stay as it is.
  const isLink = (await lstat(target)).isSymbolicLink();
  return isLink
    ? new CliError('store-unwritable', `${target} is a link.`, { next: 'name the file itself that is to be replaced' })
    : undefined;
};

const alreadyThere = (target: string): CliError =>
  new CliError('conflict', `${target} exists already.`, { next: 'choose another name, or replace it with --force' });
