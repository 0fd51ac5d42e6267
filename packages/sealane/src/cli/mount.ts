/**
 * For programs that have Sealane inside them and a command line of their own: our commands among theirs. They say where
 * the service is (`createRunCommand`) and how their users call us (`useCommandWords`).
 */
export { findAdminKey } from '#config';
export { STATES } from '#domain';
export type { Command } from 'commander';

export type { ApiClient } from './api-client.ts';
export { createApiClient } from './api-client.ts';
export type { AdminKey, ClientContext, GlobalOptions } from './cli-context.ts';
export { CliError, toCliError } from './cli-error.ts';
export type { CommandWords } from './command-name.ts';
export { shellWord, typed, useCommandWords } from './command-name.ts';
export { reportChecks } from './commands/doctor.ts';
export { addInviteCommand } from './commands/invite.ts';
export { addKeysCommand } from './commands/keys.ts';
export { addLanesCommand } from './commands/lanes.ts';
export { addSendCommand } from './commands/send.ts';
export { addTasksCommand } from './commands/tasks.ts';
export { addWatchCommand } from './commands/watch.ts';
export type { Check } from './check.ts';
export { EXIT, type ExitCode } from './exit-codes.ts';
export { createOutput, type Output } from './output.ts';
export { createRunCommand, type RunCommand } from './run-command.ts';
export { VERSION } from '../version.ts';
