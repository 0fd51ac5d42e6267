/**
 * `openclaw a2a-tasks …`: Sealane's own commands among those of OpenClaw, and those that only the plugin has. They are
 * loaded when one of them is called; here is only what OpenClaw needs to know before. They talk to the service over
 * HTTP, as anybody could. Start with `mount-commands.ts`, then `gateway-place.ts`.
 */
import type { CommandDescriptor, CommandsApi } from './commands-api.ts';

export type { CommandsApi } from './commands-api.ts';

const DESCRIPTOR: CommandDescriptor = {
  name: 'a2a-tasks',
  description: 'The A2A task service: its tasks, lanes, keys and health',
  hasSubcommands: true,
  machineOutput: ({ argv, stdoutIsTTY }) => !stdoutIsTTY || argv.includes('--json'),
};

export const registerCommands = (api: CommandsApi): void => {
  api.registerCli(
    async (context) => {
      const { mountCommands } = await import('./mount-commands.ts');
      mountCommands(api, context);
    },
    { descriptors: [DESCRIPTOR] },
  );
};
