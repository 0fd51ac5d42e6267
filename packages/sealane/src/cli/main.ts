import { readFileSync } from 'node:fs';

import { CommanderError, type Command } from 'commander';

import { toCliError, usageError } from './cli-error.ts';
import { typed } from './command-name.ts';
import { EXIT } from './exit-codes.ts';
import { createOutput } from './output.ts';
import { createProgram } from './program.ts';

// `sealane tasks list | head` closes the pipe: that is the reader's right and no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // oxlint-disable-next-line unicorn/no-process-exit
  if (error.code === 'EPIPE') process.exit(EXIT.ok);
  throw error;
});

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly version: string;
};
const program = createProgram(version);

/** Wrong usage is told like every other failure; commander itself would only print. */
const everyCommand = (command: Command): readonly Command[] => [command, ...command.commands.flatMap(everyCommand)];
for (const command of everyCommand(program)) command.exitOverride().configureOutput({ outputError: () => {} });

try {
  await program.parseAsync();
} catch (error) {
  const isJson = process.argv.includes('--json');
  const output = createOutput({ json: isJson, quiet: false, color: !process.argv.includes('--no-color') });
  if (!(error instanceof CommanderError)) {
    const failure = toCliError(error);
    output.failure(failure);
    process.exitCode = failure.exitCode;
  } else if (error.exitCode === 0) process.exitCode = EXIT.ok;
  else {
    // `sealane` alone prints its help and wants nothing more.
    if (error.code !== 'commander.help')
      output.failure(usageError(error.message.replace(/^error: /, ''), typed(...helpWords())));
    process.exitCode = EXIT.usage;
  }
}

/** The help of the command that was meant: the leading words that name commands. */
function helpWords(): readonly string[] {
  const words: string[] = [];
  let command: Command = program;
  for (const word of process.argv.slice(2)) {
    const next = command.commands.find((candidate) => candidate.name() === word);
    if (!next) break;
    words.push(word);
    command = next;
  }
  return [...words, '--help'];
}
