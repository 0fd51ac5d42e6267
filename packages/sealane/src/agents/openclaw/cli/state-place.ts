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
  const home = seen['OPENCLAW_HOME'] ?? seen['HOME'] ?? homedir();
  const profile = seen['OPENCLAW_PROFILE']?.trim() ?? '';
  const usual = join(home, profile === '' || profile === 'default' ? '.openclaw' : `.openclaw-${profile}`);
  const named = options.stateDir ?? seen['OPENCLAW_STATE_DIR'];
  const shared = resolve(options.workingDirectory ?? '.', named?.replace(/^~(?=\/|$)/, home) ?? usual);
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
  env['OPENCLAW_CONFIG_PATH'] = seen['OPENCLAW_CONFIG_PATH'] ?? join(shared, 'openclaw.json');
  return { stateDir, env };
};
