import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

import type { Command } from 'commander';

import { storeTarget } from '#config';

import { CliError, usageError } from '../cli-error.ts';
import type { CliContext } from '../cli-context.ts';
import { typed } from '../command-name.ts';
import type { DatabaseFacts } from '../database-file.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { makeNewFile, writeNewFile } from '../new-file.ts';
import type { RunCommand } from '../run-command.ts';

export const addBackupCommand = (program: Command, run: RunCommand): void => {
  program
    .command('backup')
    .description('write a consistent copy of the database into a file, while the service runs or not')
    .argument('<file>', 'the copy')
    .option('--force', 'replace the file if it exists')
    .addHelpText(
      'after',
      '\nExamples:\n  sealane backup sealane-$(date +%F).db\n  sealane restore sealane-2026-01-31.db',
    )
    .action((file: string, { force = false }: { readonly force?: boolean }, command: Command) =>
      run(command, (context) => backup(context, file, force)),
    );
};

const backup = async (context: CliContext, target: string, force: boolean): Promise<ExitCode> => {
  const { output } = context;
  if (force) refuseDatabase(context, target);
  // The database library is loaded by the commands that need it only.
  const { verifyDatabase } = await import('../database-file.ts');
  let facts: DatabaseFacts = { tasks: 0 };
  const options = {
    force,
    verify: (draft: string) => {
      output.progress('checking the copy');
      facts = verifyDatabase(draft);
    },
  };
  const isFromService = await copyFromService(context, target, options);
  const warning = isFromService ? undefined : await copyFromFile(context, target, options);
  if (warning !== undefined) output.note(warning);
  output.result(
    { file: target, ...facts, from: isFromService ? 'service' : 'file', ...(warning !== undefined && { warning }) },
    () => `${facts.tasks} tasks copied to ${target}, and the copy checked`,
  );
  return EXIT.ok;
};

/** A copy would take the place of the file that the service goes on writing to, out of everybody's sight. */
const refuseDatabase = ({ load }: CliContext, target: string): void => {
  const store = storeTarget(load().config);
  if (store.kind !== 'sqlite') return;
  const files = ['', '-wal', '-shm', '.redo', '.lock', '.pid'].map((ending) => `${realPath(store.file)}${ending}`);
  if (!files.includes(realPath(target))) return;
  throw usageError(
    `${target} is the database itself, or a file that belongs to it.`,
    typed('backup', 'sealane.backup.db'),
  );
};

/** The file of the name need not be there. */
const realPath = (file: string): string => {
  try {
    return join(realpathSync(dirname(file)), basename(file));
  } catch {
    return file;
  }
};

interface CopyOptions {
  readonly force: boolean;
  readonly verify: (draft: string) => void;
}

/** False: no service runs here, and nobody named one. */
const copyFromService = async (
  { output, client, address }: CliContext,
  target: string,
  options: CopyOptions,
): Promise<boolean> => {
  const service = await client();
  try {
    const { body, bytes } = await service.download('/admin/backup', 'application/octet-stream');
    let done = 0;
    const counted = async function* () {
      for await (const chunk of body) {
        done += chunk.length;
        output.progress(
          `copying: ${bytes === undefined ? `${Math.round(done / 1e6)} MB` : `${Math.floor((done / bytes) * 100)} %`}`,
        );
        yield chunk;
      }
      // A line that breaks between two chunks must not look like the end.
      if (bytes !== undefined && done !== bytes)
        throw new CliError('unreachable', `${service.url} sent ${done} of ${bytes} bytes.`, { next: 'try again' });
    };
    await writeNewFile(target, options, counted());
    return true;
  } catch (error) {
    if (error instanceof CliError && error.code === 'unreachable' && !error.isTransient && !address().isNamed)
      return false;
    throw error;
  }
};

/** Answers what people should know about the copy. */
const copyFromFile = async (
  { output, load }: CliContext,
  target: string,
  options: CopyOptions,
): Promise<string | undefined> => {
  const { backupFile, requireUnused } = await import('../database-file.ts');
  const { requireWhole } = await import('#store/sqlite/open-at-rest');
  const store = storeTarget(load().config);
  if (store.kind === 'postgres')
    throw new CliError('conflict', 'The tasks are in PostgreSQL, which has its own backup.', {
      next: 'pg_dump --format=custom --file=sealane.dump …',
    });
  if (store.kind === 'memory')
    throw new CliError('conflict', 'The store is in memory, and no service runs: there is nothing to copy.');
  requireWhole(store.file);
  if (!existsSync(store.file))
    throw new CliError('not-found', `There is no database at ${store.file}.`, {
      next: typed('backup', target, '--data-dir', 'FOLDER'),
    });
  const lock = requireUnused(
    store.file,
    (pid = '?') =>
      new CliError(
        'unreachable',
        `Process ${pid} has ${store.file} open, but does not answer on the configured address.`,
        {
          next: typed('backup', target, '--url', 'http://127.0.0.1:PORT'),
        },
      ),
  );
  try {
    let warning: string | undefined;
    await makeNewFile(target, options, async (draft) => {
      warning = await backupFile(store.file, draft, (share) =>
        output.progress(`copying: ${Math.floor(share * 100)} %`),
      );
    });
    return warning;
  } finally {
    lock.release();
  }
};
