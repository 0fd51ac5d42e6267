import { readFileSync } from 'node:fs';

import { CommanderError, type Command } from 'commander';

import { nearestWord } from '#config';

import { toCliError, usageError } from './cli-error.ts';
import { typed } from './command-name.ts';
import { EXIT } from './exit-codes.ts';
import { createOutput } from './output.ts';
import { createProgram } from './program.ts';
import { guardStandardStreams } from './standard-streams.ts';

/** For what is told outside of any command. */
const plainOutput = () =>
  createOutput({
    json: process.argv.includes('--json'),
    quiet: false,
    color: !process.argv.includes('--no-color'),
  });

guardStandardStreams(plainOutput);

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly version: string;
};
const program = await createProgram(version, process.argv.slice(2));

/** Wrong usage is told like every other failure; commander itself would only print. */
const everyCommand = (command: Command): readonly Command[] => [command, ...command.commands.flatMap(everyCommand)];
for (const command of everyCommand(program)) command.exitOverride().configureOutput({ outputError: () => {} });

try {
  await program.parseAsync();
} catch (error) {
  const output = plainOutput();
  if (!(error instanceof CommanderError)) {
    const failure = toCliError(error);
    output.failure(failure);
    process.exitCode = failure.exitCode;
  } else if (error.exitCode === 0) process.exitCode = EXIT.ok;
  else {
    // `sealane` alone prints its help and wants nothing more.
    if (error.code !== 'commander.help')
      output.failure(usageError(explainUsage(error), typed(...wordsTyped().words, '--help')));
    process.exitCode = EXIT.usage;
  }
}

/** The command that was meant: the words that name commands, and the first one that names none. */
function wordsTyped(): {
  readonly command: Command;
  readonly words: readonly string[];
  readonly rest: string | undefined;
} {
  const words: string[] = [];
  let command: Command = program;
  const typedWords = process.argv.slice(2);
  for (let at = 0; at < typedWords.length; at += 1) {
    const word = typedWords[at] ?? '';
    if (word.startsWith('-')) {
      const option = [...program.options, ...command.options].find(
        ({ long, short }) => long === word || short === word,
      );
      if (option?.required === true) at += 1;
      continue;
    }
    const next = command.commands.find((candidate) => candidate.name() === word);
    if (!next) return { command, words, rest: word };
    words.push(word);
    command = next;
  }
  return { command, words, rest: undefined };
}

/** A group of commands runs its usual one when none is named; a slip of the pen would be told as a word too many for it. */
function explainUsage({ code, message }: CommanderError): string {
  const { command, words, rest } = wordsTyped();
  if (code !== 'commander.excessArguments' || rest === undefined || command.commands.length === 0)
    return message.replace(/^error: /, '');
  const near = nearestWord(
    rest,
    command.commands.map((candidate) => candidate.name()),
  );
  return `There is no command "${[...words, rest].join(' ')}".${near === undefined ? '' : ` Did you mean ${near}?`}`;
}
