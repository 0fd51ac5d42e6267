import { CommanderError, type Command } from 'commander';

import { nearestWord } from '#config';

import { toCliError, usageError } from './cli-error.ts';
import { typed } from './command-name.ts';
import { EXIT } from './exit-codes.ts';
import { createOutput, type Output } from './output.ts';
import { createProgram } from './program.ts';

/** For what is told outside of any command. */
export const plainOutput = (words: readonly string[]): Output =>
  createOutput({ json: words.includes('--json'), quiet: false, color: !words.includes('--no-color') });

/** Runs the command that these words name, prints what went wrong, and sets the exit code of the process. */
export const runCommandLine = async (words: readonly string[], version: string): Promise<void> => {
  const program = await createProgram(version, words);
  // Wrong usage is told like every other failure; commander itself would only print.
  for (const command of everyCommand(program)) command.exitOverride().configureOutput({ outputError: () => {} });
  try {
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    const output = plainOutput(words);
    if (!(error instanceof CommanderError)) {
      const failure = toCliError(error);
      output.failure(failure);
      process.exitCode = failure.exitCode;
    } else if (error.exitCode === 0) process.exitCode = EXIT.ok;
    else {
      const meant = findCommand(program, words);
      // `sealane` alone prints its help and wants nothing more.
      if (error.code !== 'commander.help')
        output.failure(usageError(explainUsage(error, meant), typed(...meant.words, '--help')));
      process.exitCode = EXIT.usage;
    }
  }
};

const everyCommand = (command: Command): readonly Command[] => [command, ...command.commands.flatMap(everyCommand)];

interface MeantCommand {
  readonly command: Command;
  /** The words that name commands. */
  readonly words: readonly string[];
  /** The first word that names none. */
  readonly rest: string | undefined;
}

const findCommand = (program: Command, typedWords: readonly string[]): MeantCommand => {
  const words: string[] = [];
  let command = program;
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
};

/** A group of commands runs its usual one when none is named; a slip of the pen would be told as a word too many for it. */
const explainUsage = ({ code, message }: CommanderError, { command, words, rest }: MeantCommand): string => {
  if (code !== 'commander.excessArguments' || rest === undefined || command.commands.length === 0)
    return message.replace(/^error: /, '');
  const near = nearestWord(
    rest,
    command.commands.map((candidate) => candidate.name()),
  );
  return `There is no command "${[...words, rest].join(' ')}".${near === undefined ? '' : ` Did you mean ${near}?`}`;
};
