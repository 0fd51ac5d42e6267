import type { Command } from 'commander';

import { CliError, toCliError } from './cli-error.ts';
import { createCliContext, type CliContext, type ClientContext, type GlobalOptions } from './cli-context.ts';
import { commandWords, rememberPlace, typed } from './command-name.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';

/** Runs the action of a command with what commands share; whatever it throws is told, with the next step. */
export type RunCommand<Context = CliContext> = (
  command: Command,
  action: (context: Context) => Promise<ExitCode> | ExitCode,
) => Promise<void>;

export const createRunCommand =
  <Context extends ClientContext>(contextOf: (options: GlobalOptions) => Context): RunCommand<Context> =>
  async (command, action) => {
    const context = contextOf(command.optsWithGlobals<GlobalOptions>());
    try {
      process.exitCode = await action(context);
    } catch (error) {
      const failure = withNext(toCliError(error), command);
      context.output.failure(failure);
      // A bug: the stack helps whoever looks for it, and nobody else.
      if (failure.code === 'internal' && process.env.SEALANE_DEBUG && failure.cause instanceof Error)
        console.error(failure.cause);
      process.exitCode = failure.exitCode;
    }
  };

/** For failures that know no next step of their own: the help of the command, or the list of what there is. */
const withNext = (failure: CliError, command: Command): CliError => {
  if (failure.next !== undefined) return failure;
  const words = wordsOf(command);
  const { code, message, exitCode, retryAfterMs, cause } = failure;
  const told = (next: string) => new CliError(code, message, { next, exitCode, retryAfterMs, cause });
  if (exitCode === EXIT.usage) return told(typed(...words, '--help'));
  const hasList = command.parent?.commands.some((sibling) => sibling.name() === 'list') ?? false;
  return exitCode === EXIT.notFound && hasList ? told(typed(...words.slice(0, -1), 'list')) : failure;
};

/** What is typed after our name; inside another program, that is a command among others. */
const wordsOf = (command: Command): readonly string[] => {
  const words: string[] = [];
  for (let at: Command | null = command; at?.parent; at = at.parent) words.unshift(at.name());
  return words[0] === commandWords().name.split(' ').at(-1) ? words.slice(1) : words;
};

export const runCommand: RunCommand = createRunCommand((options) => {
  rememberPlace(options);
  return createCliContext(options);
});
