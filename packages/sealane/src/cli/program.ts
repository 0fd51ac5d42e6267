import { Command } from 'commander';

import { EXIT_CODE_HELP } from './exit-codes.ts';
import { runCommand } from './run-command.ts';

type AddCommand = (program: Command, run: typeof runCommand) => void;

const COMMANDS: Readonly<Record<string, () => Promise<AddCommand>>> = {
  init: async () => (await import('./commands/init.ts')).addInitCommand,
  serve: async () => (await import('./commands/serve.ts')).addServeCommand,
  send: async () => (await import('./commands/send.ts')).addSendCommand,
  watch: async () => (await import('./commands/watch.ts')).addWatchCommand,
  tasks: async () => (await import('./commands/tasks.ts')).addTasksCommand,
  export: async () => (await import('./commands/export.ts')).addExportCommand,
  lanes: async () => (await import('./commands/lanes.ts')).addLanesCommand,
  approvals: async () => (await import('./commands/approvals.ts')).addApprovalsCommand,
  keys: async () => (await import('./commands/keys.ts')).addKeysCommand,
  invite: async () => (await import('./commands/invite.ts')).addInviteCommand,
  service: async () => (await import('./commands/service.ts')).addServiceCommand,
  doctor: async () => (await import('./commands/doctor.ts')).addDoctorCommand,
  config: async () => (await import('./commands/config.ts')).addConfigCommand,
  backup: async () => (await import('./commands/backup.ts')).addBackupCommand,
  restore: async () => (await import('./commands/restore.ts')).addRestoreCommand,
};

/**
 * The command line as data; `command-line.ts` runs it. Of a command that was `typed` as the first word the others are not
 * loaded: a service that runs for months need not carry them.
 */
export const createProgram = async (version: string, typed: readonly string[] = []): Promise<Command> => {
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
  const named = firstWord(program, typed);
  const one = Object.hasOwn(COMMANDS, named) ? COMMANDS[named] : undefined;
  for (const load of one ? [one] : Object.values(COMMANDS)) (await load())(program, runCommand);
  return program;
};

/** The first word that is neither an option nor what is given to one: `--config config serve` means serve. */
const firstWord = ({ options }: Command, typed: readonly string[]): string => {
  for (let at = 0; at < typed.length; at += 1) {
    const word = typed[at] ?? '';
    if (!word.startsWith('-')) return word;
    if (options.some(({ long, required }) => long === word && required)) at += 1;
  }
  return '';
};
