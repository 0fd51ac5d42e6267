/**
 * The command line. `serve` runs the service; every other command talks to a service over HTTP, as any client could. It
 * knows the configuration and the wire, and never the engine. Start with `program.ts` (the list of commands),
 * `run-command.ts` (what all commands share) and `follow-task.ts` (how a command follows a task over broken
 * connections).
 */
export { EXIT } from './exit-codes.ts';
export { createProgram } from './program.ts';
