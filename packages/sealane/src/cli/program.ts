import { Command } from 'commander';

import { addApprovalsCommand } from './commands/approvals.ts';
import { addBackupCommand } from './commands/backup.ts';
import { addConfigCommand } from './commands/config.ts';
import { addDoctorCommand } from './commands/doctor.ts';
import { addExportCommand } from './commands/export.ts';
import { addInitCommand } from './commands/init.ts';
import { addInviteCommand } from './commands/invite.ts';
import { addKeysCommand } from './commands/keys.ts';
import { addLanesCommand } from './commands/lanes.ts';
import { addRestoreCommand } from './commands/restore.ts';
import { addSendCommand } from './commands/send.ts';
import { addServeCommand } from './commands/serve.ts';
import { addServiceCommand } from './commands/service.ts';
import { addTasksCommand } from './commands/tasks.ts';
import { addWatchCommand } from './commands/watch.ts';
import { EXIT_CODE_HELP } from './exit-codes.ts';
import { runCommand } from './run-command.ts';

/** The whole command line as data; `main.ts` runs it. */
export const createProgram = (version: string): Command => {
  const program = new Command('sealane')
    .description('The durable task service behind AI agents: every A2A task stored, ordered, stoppable and replayable.')
    .version(version)
    .option('--url <url>', 'address of the service (SEALANE_URL, else from the configuration)')
    .option('--key <key>', 'API key (SEALANE_API_KEY, else the admin key of the data folder)')
    .option('--data-dir <folder>', 'folder for the database and the admin key (~/.sealane)')
    .option('--config <file>', 'configuration file (<data folder>/sealane.yaml)')
    .option('--json', 'print JSON: one document, or one per line for streams; errors too, on stderr')
    .option('--no-color', 'no colours')
    .option('--quiet', 'results and errors only')
    .showSuggestionAfterError()
    .configureHelp({ showGlobalOptions: true })
    .addHelpText('after', `\nStart:\n  sealane serve\n  sealane send "hello"\n${EXIT_CODE_HELP}`);
  for (const add of [
    addInitCommand,
    addServeCommand,
    addSendCommand,
    addWatchCommand,
    addTasksCommand,
    addExportCommand,
    addLanesCommand,
    addApprovalsCommand,
    addKeysCommand,
    addInviteCommand,
    addServiceCommand,
    addDoctorCommand,
    addConfigCommand,
    addBackupCommand,
    addRestoreCommand,
  ]) {
    add(program, runCommand);
  }
  return program;
};
