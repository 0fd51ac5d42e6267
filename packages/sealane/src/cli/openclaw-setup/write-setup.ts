import { constants, existsSync } from 'node:fs';
import { copyFile, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { makePrivateFolder } from '#store/private-folder';

import { writeNewFile } from '../new-file.ts';
import { TOKEN_FILE } from './setup-file.ts';

interface Setup {
  readonly file: string;
  readonly content: string;
  /** Goes into a file of its own. */
  readonly token: string | undefined;
  /** Replaces what is there; of a configuration, a copy is kept. */
  readonly force: boolean;
}

export interface WrittenSetup {
  readonly tokenFile: string | undefined;
  /** The copy of the configuration that was replaced. */
  readonly kept: string | undefined;
}

/** Writes the configuration, and the token before it, so that a service that sees the first finds the second. */
export const writeSetup = async ({ file, content, token, force }: Setup): Promise<WrittenSetup> => {
  const folder = dirname(file);
  makePrivateFolder(folder);
  const kept = force && existsSync(file) ? `${file}.${new Date().toISOString().replaceAll(/[:.]/g, '-')}` : undefined;
  if (kept !== undefined) await copyFile(file, kept, constants.COPYFILE_EXCL);
  const tokenFile = token === undefined ? undefined : join(folder, TOKEN_FILE);
  if (tokenFile !== undefined && token !== undefined) await writeToken(tokenFile, token, force);
  await writeNewFile(file, { force }, bytesOf(content));
  return { tokenFile, kept };
};

const writeToken = async (file: string, token: string, force: boolean): Promise<void> => {
  // One that is left from before is no obstacle; another one may belong to somebody.
  const known = await readFile(file, 'utf8').catch(() => undefined);
  const isOurs = known?.trim() === token;
  await writeNewFile(file, { force: force || isOurs }, bytesOf(`${token}\n`));
};

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
