import type { RunIo, Turn } from '../agent-connector.ts';
import type { CommandOptions } from './command-options.ts';
import { TOKEN_VARIABLE } from './process-tree.ts';

/** What most programs need and what gives nothing away. A final `*` stands for any ending. */
const ALLOWED = ['PATH', 'HOME', 'LANG', 'LC_*', 'TMPDIR', 'TZ', 'USER', 'SHELL'];

/**
 * Bash that finds a socket as its standard input takes itself for a remote login's and reads ~/.bashrc, whose words
 * would stand in the answer; but only the first of nested shells does.
 */
const NO_FIRST_SHELL = { SHLVL: '1' };

/**
 * The environment of a program: what it may inherit, what the configuration adds, and what tells it whose run it is.
 * Our own variables are never inherited, since keys and database addresses are among them; `env` can hand one on.
 */
export const childEnvironment = (
  { inheritEnv, env }: Pick<CommandOptions, 'inheritEnv' | 'env'>,
  own: NodeJS.ProcessEnv,
): Record<string, string> => {
  const names = inheritEnv === true ? ['*'] : [...ALLOWED, ...(inheritEnv === false ? [] : inheritEnv)];
  const inherited: Record<string, string> = {};
  for (const [name, value] of Object.entries(own)) {
    const isAllowed = names.some((one) => (one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : name === one));
    if (value !== undefined && isAllowed && !name.startsWith('SEALANE_')) inherited[name] = value;
  }
  return { ...NO_FIRST_SHELL, ...inherited, ...env };
};

/** The variables that speak of the run. They win over everything else: the token is how the run is found again. */
export const runVariables = (
  turn: Turn,
  { attempt }: Pick<RunIo, 'attempt'>,
  token: string,
  own: NodeJS.ProcessEnv,
): Record<string, string> => ({
  SEALANE_TASK_ID: turn.taskId,
  SEALANE_CONTEXT_ID: turn.contextId,
  SEALANE_RUN_ID: turn.runId,
  SEALANE_ANCESTORS: [...turn.ancestors, turn.runId].join(','),
  SEALANE_ATTEMPT: String(attempt),
  SEALANE_SESSION: turn.session,
  ...(turn.extensions.length > 0 && { SEALANE_EXTENSIONS: turn.extensions.join(',') }),
  ...(turn.traceparent !== undefined && { TRACEPARENT: turn.traceparent }),
  // Inside another run, both tokens: whoever ends the outer run must find ours too.
  [TOKEN_VARIABLE]: [own[TOKEN_VARIABLE], token].filter(Boolean).join(','),
});
