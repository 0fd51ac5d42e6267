import {
  addInviteCommand,
  addKeysCommand,
  addLanesCommand,
  addSendCommand,
  addTasksCommand,
  addWatchCommand,
  type ClientContext,
  type Command,
  createRunCommand,
  reportChecks,
  type RunCommand,
  useCommandWords,
} from 'sealane/cli';

import type { CommandsApi, CommandsContext } from './commands-api.ts';
import { examinePlugin } from './examine-plugin.ts';
import { findPlace } from './gateway-place.ts';
import { addImportCommand } from './import.ts';
import { createPluginContext } from './plugin-context.ts';
import { readPluginConfig } from './plugin-config.ts';
import { addStatusCommand } from './status.ts';
import { trustCertificate } from './trust-certificate.ts';

const NAME = 'openclaw a2a-tasks';

/** All of `openclaw a2a-tasks …`. */
export const mountCommands = (api: CommandsApi, { program, config: source }: CommandsContext): void => {
  useCommandWords({
    name: NAME,
    exampleName: NAME,
    start: 'openclaw gateway run   # where it is a service: openclaw gateway start',
    notTheService: `${NAME} doctor   # the Gateway answers, but not the plugin`,
    checkConfig: `${NAME} doctor`,
    setPublicUrl: `tell the plugin its address: openclaw config set 'plugins.entries["a2a-tasks"].config.publicUrl' https://claw.example.com/a2a`,
  });
  const place = findPlace(source, api.runtime.state.resolveStateDir(), process.env);
  const config = readPluginConfig(source);
  const contextOf = createPluginContext(place);
  const run: RunCommand<ClientContext> = createRunCommand((options) => {
    if (place.certificate !== undefined) trustCertificate(place.certificate);
    return contextOf(options);
  });
  const parent = program
    .command('a2a-tasks')
    .description('The A2A task service: its tasks, lanes, keys and health')
    // OpenClaw wants options before commands; ours may stand anywhere.
    .enablePositionalOptions(false)
    .option('--url <url>', "address of another service (that of this machine's Gateway without it)")
    .option('--key <key>', "API key for it (the operator's key of this machine without it)")
    .option('--json', 'print JSON: one document, or one per line for streams; errors too, on stderr')
    .option('--no-color', 'no colours')
    .option('--quiet', 'results and errors only');
  addStatusCommand(parent, run, place, config);
  for (const add of [
    addSendCommand,
    addWatchCommand,
    addTasksCommand,
    addLanesCommand,
    addKeysCommand,
    addInviteCommand,
  ])
    add(parent, run);
  addImportCommand(parent, run, { place, config, configFile: () => api.runtime.config });
  parent
    .command('doctor')
    .description('check everything the service needs, one by one, and say what to do')
    .option('--ask', 'ask the agent something as well, which costs a call of the model')
    .action((options: { readonly ask?: boolean }, command: Command) =>
      run(command, (context) =>
        reportChecks(context.output, examinePlugin(context, { place, config, withAgent: options.ask === true })),
      ),
    );
};
