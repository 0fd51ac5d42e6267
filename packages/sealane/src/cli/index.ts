/**
 * The command line: `serve` runs the service, everything else talks to one over HTTP, as any client could. It knows the
 * configuration and the wire, never the engine. Start with `program.ts` (what there is), `run-command.ts` (what every
 * command gets) and `follow-task.ts` (how a task is followed over broken lines).
 */
export { EXIT } from './exit-codes.ts';
export { createProgram } from './program.ts';
