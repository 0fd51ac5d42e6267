import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

import { childEnvironment } from '../../command/child-environment.ts';
import type { CliOptions } from './cli-options.ts';

/** Where a run's OpenClaw keeps what it knows, and the variables that tell it so. */
export interface StatePlace {
  readonly stateDir: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Where OpenClaw itself would look, unless the settings say otherwise. With a directory per lane only the conversation
 * moves: the configuration is still the one of the shared directory.
 */
export const statePlaceOf = (options: CliOptions, session: string, own: NodeJS.ProcessEnv): StatePlace => {
  const seen = childEnvironment(options, own);
  // OpenClaw takes an empty variable for none.
  const told = (name: string): string | undefined => seen[name]?.trim() || undefined;
  const home = told('OPENCLAW_HOME') ?? told('HOME') ?? homedir();
  // A profile that is only a variable moves nothing: it is the flag --profile that sets OPENCLAW_STATE_DIR.
  const named = options.stateDir ?? told('OPENCLAW_STATE_DIR');
  const shared = resolve(
    options.workingDirectory ?? '.',
    named?.replace(/^~(?=\/|$)/, home) ?? join(home, '.openclaw'),
  );
  const env: Record<string, string> = {
    NO_COLOR: '1',
    ...options.env,
    // Otherwise it works in a child in a session of its own, which outlives the process that we know.
    OPENCLAW_NO_RESPAWN: '1',
  };
  if (!options.stateDirPerLane) {
    if (named !== undefined) env['OPENCLAW_STATE_DIR'] = shared;
    return { stateDir: shared, env };
  }
  const stateDir = join(shared, 'sealane-lanes', session);
  env['OPENCLAW_STATE_DIR'] = stateDir;
  env['OPENCLAW_CONFIG_PATH'] = told('OPENCLAW_CONFIG_PATH') ?? join(shared, 'openclaw.json');
  return { stateDir, env };
};
