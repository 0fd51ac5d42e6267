import type { Command } from 'commander';

import type { ClientContext } from '../cli-context.ts';
import { helpText } from '../command-name.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { writeNewFile } from '../new-file.ts';
import { notEmpty } from '../option-values.ts';
import type { RunCommand } from '../run-command.ts';

/** `sealane export`, for those who look for the form before they look for what is exported. */
export const addExportCommand = (program: Command, run: RunCommand<ClientContext>): void => {
  addExport(program, run, 'sealane export --jsonl');
};

/** A command `export` below another one; `words` is how it is typed. */
export const addExport = (parent: Command, run: RunCommand<ClientContext>, words: string): void => {
  parent
    .command('export')
    .description('write tasks with all their events as lines of JSON')
    .option('--jsonl', 'lines of JSON, which is the only form there is')
    .option('--owner <owner>', 'only tasks of this owner', notEmpty)
    .option('--context <id>', 'only tasks of this conversation', notEmpty)
    .option('--output <file>', 'write into this file instead of standard output (which - is, too)')
    .option('--force', 'replace the file if it exists')
    .addHelpText(
      'after',
      helpText(`\nExamples:\n  ${words} --output tasks.jsonl\n  ${words} --owner ann | gzip > ann.jsonl.gz`),
    )
    .action((options: ExportOptions, command: Command) => run(command, (context) => exportTasks(context, options)));
};

interface ExportOptions {
  readonly owner?: string;
  readonly context?: string;
  readonly output?: string;
  readonly force?: boolean;
}

const exportTasks = async (
  { output, client }: ClientContext,
  { owner, context, output: file, force }: ExportOptions,
): Promise<ExitCode> => {
  const { body } = await (
    await client()
  ).download('/admin/export', 'application/x-ndjson', { owner, contextId: context });
  let tasks = 0;
  const counted = async function* () {
    for await (const chunk of body) {
      for (const byte of chunk) if (byte === 10) tasks += 1;
      output.progress(`${tasks} tasks`);
      yield chunk;
    }
  };
  if (file === undefined || file === '-') {
    // Written with back-pressure: a slow reader slows the service down, not this process's memory.
    for await (const chunk of counted()) {
      if (!process.stdout.write(chunk)) await new Promise((resolve) => void process.stdout.once('drain', resolve));
    }
    return EXIT.ok;
  }
  await writeNewFile(file, { force: force ?? false }, counted());
  output.result({ file, tasks }, () => `${tasks} tasks written to ${file}`);
  return EXIT.ok;
};
