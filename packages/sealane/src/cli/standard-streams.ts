import { CliError } from './cli-error.ts';
import { EXIT } from './exit-codes.ts';
import type { Output } from './output.ts';

let isOutlivingReaders = false;

/** From now on this process does more than print: it goes on when nobody reads what it says. */
export const outliveReaders = (): void => {
  isOutlivingReaders = true;
};

/** What happens when standard output or standard error cannot be written any more. */
export const guardStandardStreams = (createOutput: () => Output): void => {
  // Nobody is left who could be told: a closed terminal must not end a service in the middle of its work.
  process.stderr.on('error', () => {});
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (isOutlivingReaders) return;
    // `sealane tasks list | head` closes the pipe: that is the reader's right and no failure.
    // oxlint-disable-next-line unicorn/no-process-exit
    if (error.code === 'EPIPE') process.exit(EXIT.ok);
    createOutput().failure(
      new CliError(
        error.code === 'ENOSPC' ? 'storage-full' : 'internal',
        `Standard output cannot be written (${error.code ?? error.message}).`,
        {
          cause: error,
          next: 'write it somewhere else; what the command did is done',
        },
      ),
    );
    // oxlint-disable-next-line unicorn/no-process-exit
    process.exit(EXIT.failed);
  });
};
