import { existsSync, linkSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

import type { Command } from 'commander';

import { storeTarget } from '#config';
import { makePrivateFile } from '#store/private-file';
import { makePrivateFolder } from '#store/private-folder';
import { syncFolder } from '#store/sqlite/redo-file';

import { CliError, usageError } from '../cli-error.ts';
import type { CliContext } from '../cli-context.ts';
import { typed } from '../command-name.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { writeError } from '../new-file.ts';
import { removeWhenStopped } from '../remove-when-stopped.ts';
import type { RunCommand } from '../run-command.ts';

export const addRestoreCommand = (program: Command, run: RunCommand): void => {
  program
    .command('restore')
    .description('put a backup in place of the database; the service must be stopped')
    .argument('<file>', 'a file that backup made')
    .addHelpText(
      'after',
      '\nThe database that was there is kept beside it, with the time in its name.\n\nExample:\n  sealane restore sealane-2026-01-31.db',
    )
    .action((file: string, _options, command: Command) => run(command, (context) => restore(context, file)));
};

const restore = async ({ output, load }: CliContext, backup: string): Promise<ExitCode> => {
  const { backupFile, emptyLogs, requireKnownSchema, requireUnused, verifyDatabase } =
    await import('../database-file.ts');
  const store = storeTarget(load().config);
  if (store.kind !== 'sqlite') {
    throw new CliError('conflict', `The configured store is ${store.kind}, which a file cannot be restored into.`, {
      next: typed('restore', backup, '--data-dir', 'FOLDER'),
    });
  }
  const facts = statSync(backup, { throwIfNoEntry: false });
  if (!facts) throw new CliError('not-found', `There is no file ${backup}.`, { next: 'check the name of the file' });
  // A pipe would be waited for without an end, and without an ear for Ctrl-C.
  if (!facts.isFile())
    throw usageError(
      `${backup} is not a file: a backup cannot be read from a folder or a pipe.`,
      typed('restore', 'FILE'),
    );
  makePrivateFolder(dirname(store.file));
  const lock = requireUnused(store.file);
  const draft = `${store.file}.restoring`;
  const leftovers = ['', '-wal', '-shm', '-journal'].map((ending) => `${draft}${ending}`);
  using _draft = removeWhenStopped(...leftovers);
  try {
    output.progress('checking the backup');
    verifyDatabase(backup);
    requireKnownSchema(backup);
    rmSync(draft, { force: true });
    makePrivateFile(draft);
    const warning = await backupFile(backup, draft, (share) =>
      output.progress(`copying: ${Math.floor(share * 100)} %`),
    );
    if (warning !== undefined) output.note(warning);
    const { tasks } = verifyDatabase(draft);
    emptyLogs(store.file);
    const { kept, logs } = setAside(store.file);
    renameSync(draft, store.file);
    syncFolder(dirname(store.file));
    output.result({ file: store.file, tasks, kept: kept ?? null, ...(warning !== undefined && { warning }) }, () => [
      `${tasks} tasks restored into ${store.file}`,
      ...(kept === undefined ? [] : [`The database that was there is now ${kept}`]),
    ]);
    if (logs.length > 0) output.note(`What was beside it is now ${logs.join(' and ')}`);
    output.note(`Start the service: ${typed('serve')}`);
    return EXIT.ok;
  } catch (error) {
    throw writeError(error, store.file);
  } finally {
    for (const file of leftovers) rmSync(file, { force: true });
    lock.release();
  }
};

interface SetAside {
  /** The database that was there. */
  readonly kept: string | undefined;
  readonly logs: readonly string[];
}

/**
 * Gives the database another name, beside its own where the disk can: then there is one under that name at every moment.
 * Logs that could not be moved into it (it may be damaged, or missing) go along: SQLite would take the one that it finds
 * for the restored database's.
 */
const setAside = (database: string): SetAside => {
  const aside = `${database}.${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
  const logs: string[] = [];
  for (const ending of ['-wal', '-shm', '.redo']) {
    if (!existsSync(`${database}${ending}`)) continue;
    renameSync(`${database}${ending}`, `${aside}${ending}`);
    if (ending !== '-shm') logs.push(`${aside}${ending}`);
  }
  if (!existsSync(database)) return { kept: undefined, logs };
  try {
    linkSync(database, aside);
  } catch {
    renameSync(database, aside);
  }
  return { kept: aside, logs };
};
