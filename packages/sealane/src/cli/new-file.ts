import { randomBytes } from 'node:crypto';
import { access, link, open, rename, rm } from 'node:fs/promises';

import { CliError } from './cli-error.ts';

interface NewFileOptions {
  /** Replaces a file that exists. */
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
    await using file = await open(draft, 'wx', 0o600);
    for await (const chunk of content) await file.writeFile(chunk);
    await file.sync();
  });

/** The same for content that is written by somebody who wants a path. */
export const makeNewFile = async (
  target: string,
  { force, verify }: NewFileOptions,
  make: (draft: string) => Promise<void>,
): Promise<void> => {
  if (!force && (await exists(target))) throw alreadyThere(target);
  const draft = `${target}.${randomBytes(4).toString('hex')}.part`;
  try {
    await make(draft);
    await verify?.(draft);
    await (force ? rename(draft, target) : link(draft, target));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'EEXIST') throw alreadyThere(target);
    if (code === 'ENOENT' || code === 'EACCES' || code === 'ENOSPC')
      throw new CliError('store-unwritable', `${target} cannot be written (${code}).`, { cause: error });
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
};

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

const alreadyThere = (target: string): CliError =>
  new CliError('conflict', `${target} exists already.`, { next: 'choose another name, or replace it with --force' });
