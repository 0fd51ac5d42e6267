import { homedir, userInfo } from 'node:os';

import { CliError } from '../cli-error.ts';
import { typed } from '../command-name.ts';
import { createLaunchdManager } from './launchd-manager.ts';
import type { ServiceManager } from './service-manager.ts';
import { createSystemdManager } from './systemd-manager.ts';

/** The manager of this platform, whether it answers or not; undefined where we know none. */
export const findManager = (platform: NodeJS.Platform = process.platform): ServiceManager | undefined => {
  if (platform !== 'linux' && platform !== 'darwin') return undefined;
  const surroundings = { home: homedir(), env: process.env, uid: userInfo().uid };
  return platform === 'linux' ? createSystemdManager(surroundings) : createLaunchdManager(surroundings);
};

export const requireManager = (): ServiceManager => {
  const manager = findManager();
  if (manager) return manager;
  throw new CliError(
    'unsupported-operation',
    `Services can be installed on Linux with systemd and on macOS; this is ${process.platform}.`,
    {
      next: `run "${typed('serve')}" under a supervisor of your own, like the task scheduler, rc.d or a container that is started again`,
    },
  );
};
