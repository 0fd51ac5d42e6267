import type { Command } from 'commander';

import { toCliError } from './cli-error.ts';
import { createCliContext, type CliContext, type ClientContext, type GlobalOptions } from './cli-context.ts';
import type { ExitCode } from './exit-codes.ts';

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
      const failure = toCliError(error);
      context.output.failure(failure);
      // A bug: the stack helps whoever looks for it, and nobody else.
      if (failure.code === 'internal' && process.env.SEALANE_DEBUG && failure.cause instanceof Error)
        console.error(failure.cause);
      process.exitCode = failure.exitCode;
    }
  };

export const runCommand: RunCommand = createRunCommand((options) => createCliContext(options));
