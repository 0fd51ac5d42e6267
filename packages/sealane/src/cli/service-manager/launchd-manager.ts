import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { CliError } from '../cli-error.ts';
import { typed } from '../command-name.ts';
import { oneLine } from '../printable.ts';
import { LABEL, renderPlist } from './launchd-plist.ts';
import { createRunTool, requireTool } from './run-tool.ts';
import type { ServiceManager } from './service-manager.ts';
import type { Surroundings } from './systemd-manager.ts';

/** Longer than the service may take to stop, by its property list. */
const GONE_MS = 60_000;
const LOOK_AGAIN_MS = 200;

export const createLaunchdManager = ({ home, env, uid }: Surroundings): ServiceManager => {
  const run = createRunTool(env);
  const must = requireTool(run);
  const file = join(home, 'Library', 'LaunchAgents', `${LABEL}.plist`);
  const logFile = join(home, 'Library', 'Logs', 'sealane.log');
  let known: string | undefined;

  /** The desktop session of the user; somebody who came by ssh may only have the one without windows. */
  const domain = async (): Promise<string> => {
    if (known !== undefined) return known;
    for (const candidate of [`gui/${uid}`, `user/${uid}`]) {
      const { code, stderr } = await run('launchctl', 'print', candidate);
      if (code === 0) return (known = candidate);
      if (candidate.startsWith('user/')) throw notThere(stderr);
    }
    throw notThere('');
  };
  const target = async () => `${await domain()}/${LABEL}`;
  const print = async () => run('launchctl', 'print', await target());

  /** It is unloaded when it has ended, which is some time after the command; loading it again before that fails. */
  const unload = async (): Promise<void> => {
    if ((await print()).code !== 0) return;
    await run('launchctl', 'bootout', await target());
    for (const end = Date.now() + GONE_MS; (await print()).code === 0; await sleep(LOOK_AGAIN_MS)) {
      if (Date.now() > end)
        throw new CliError('unavailable', 'The service does not stop.', {
          exitCode: 1,
          next: typed('service', 'logs'),
        });
    }
  };

  return {
    kind: 'launchd',
    file,
    render: (plan) => renderPlist(plan, logFile),
    check: async () => void (await domain()),
    environment: async () => ({}),
    start: async () => {
      await unload();
      await must('launchctl', 'enable', await target());
      await must('launchctl', 'bootstrap', await domain(), file);
    },
    stop: unload,
    forget: async () => {},
    state: async () => {
      const { code, stdout } = await print();
      const disabled = await run('launchctl', 'print-disabled', await domain());
      const [, state = 'not loaded'] = /^\s*state = (.*)$/m.exec(code === 0 ? stdout : '') ?? [];
      const [, pid] = /^\s*pid = (\d+)$/m.exec(stdout) ?? [];
      const [, lastExit = ''] = /^\s*last exit code = (\d+)/m.exec(stdout) ?? [];
      const isRunning = state === 'running' && pid !== undefined;
      return {
        isEnabled: code === 0 && !new RegExp(`"${LABEL}" => (disabled|true)`).test(disabled.stdout),
        isRunning,
        detail: isRunning || lastExit === '' ? state : `${state}, last exit code ${lastExit}`,
        pid: isRunning ? Number(pid) : undefined,
        since: isRunning ? dateOf((await run('ps', '-o', 'lstart=', '-p', pid)).stdout) : undefined,
        hasFailed: code !== 0,
      };
    },
    logCommand: ({ lines, isFollowed }) => ['tail', '-n', String(lines), ...(isFollowed ? ['-F'] : []), logFile],
    findHint: async () => ((await domain()).startsWith('gui/') ? 'It runs while you are logged in.' : undefined),
  };
};

const notThere = (said: string): CliError =>
  new CliError('unsupported-operation', `launchd does not answer (${oneLine(said) || 'no reason given'}).`, {
    next: `run "${typed('serve')}" under a supervisor of your own (${typed('service', 'install', '--print')} shows what launchd would start)`,
  });

/** `Sun Nov 15 14:15:06 2026`, in UTC as it was asked for. */
const dateOf = (text: string): Date | undefined => {
  const date = new Date(`${text.trim()} UTC`);
  return Number.isNaN(date.getTime()) ? undefined : date;
};
