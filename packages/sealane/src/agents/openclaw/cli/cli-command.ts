import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { CliOptions } from './cli-options.ts';

/** The system takes at most 128 KiB in one argument. */
const MAX_ARGUMENT_BYTES = 100_000;
/** OpenClaw reads no longer message. */
export const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

/** The program and its arguments for one turn, and what has to be removed after it. */
export interface CliCommand extends AsyncDisposable {
  readonly command: string[];
}

/**
 * Every value stands in one element with its flag, so no value can be read as a flag, whatever it begins with.
 * `{message}` and `{session}` are filled in by whoever runs the command. A long message goes by a file that only we
 * can read.
 */
export const openCliCommand = async (
  { path, local, agentId, thinking, timeoutSeconds }: CliOptions,
  text: string,
): Promise<CliCommand> => {
  const isLong = Buffer.byteLength(text) > MAX_ARGUMENT_BYTES;
  const directory = isLong ? await mkdtemp(join(tmpdir(), 'sealane-message-')) : undefined;
  const remove = async (): Promise<void> => {
    if (directory !== undefined) await rm(directory, { recursive: true, force: true });
  };
  const file = directory === undefined ? undefined : join(directory, 'message.txt');
  try {
    if (file !== undefined) await writeFile(file, text, { mode: 0o600 });
  } catch (error) {
    await remove();
    throw error;
  }
  return {
    command: [
      path,
      'agent',
      ...(local ? ['--local'] : []),
      '--json',
      '--session-id={session}',
      ...(agentId === undefined ? [] : [`--agent=${agentId}`]),
      `--thinking=${thinking}`,
      `--timeout=${timeoutSeconds}`,
      file === undefined ? '--message={message}' : `--message-file=${file}`,
    ],
    [Symbol.asyncDispose]: remove,
  };
};
