import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { CliError } from '../cli-error.ts';
import { typed } from '../command-name.ts';
import { oneLine } from '../printable.ts';
import { createRunTool, requireTool } from './run-tool.ts';
import type { ServiceManager } from './service-manager.ts';
import { renderUnit } from './systemd-unit.ts';

const UNIT = 'sealane.service';

export interface Surroundings {
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
  readonly uid: number;
}

export const createSystemdManager = ({ home, env, uid }: Surroundings): ServiceManager => {
  const run = createRunTool({ ...env, ...findBus(env, uid) });
  const must = requireTool(run);
  const systemctl = (...words: readonly string[]) => must('systemctl', '--user', ...words);
  let known: NodeJS.ProcessEnv | undefined;

  const environment = async (): Promise<NodeJS.ProcessEnv> => {
    if (known) return known;
    const { code, stdout, stderr } = await run('systemctl', '--user', 'show-environment');
    if (code !== 0) throw notThere(stderr);
    known = Object.fromEntries(
      stdout.split('\n').flatMap((line) => {
        const [, name, value = ''] = /^(\w+)=(.*)$/.exec(line) ?? [];
        return name === undefined ? [] : [[name, value] as const];
      }),
    );
    return known;
  };

  return {
    kind: 'systemd',
    file: join(env.XDG_CONFIG_HOME || join(home, '.config'), 'systemd', 'user', UNIT),
    render: renderUnit,
    check: async () => void (await environment()),
    environment,
    start: async () => {
      await systemctl('daemon-reload');
      await systemctl('enable', UNIT);
      // A unit that failed too often is not started before it is forgiven; one that never failed has nothing to reset.
      await run('systemctl', '--user', 'reset-failed', UNIT);
      await systemctl('restart', UNIT);
    },
    stop: async () => void (await systemctl('disable', '--now', UNIT)),
    forget: async () => {
      await systemctl('daemon-reload');
      await run('systemctl', '--user', 'reset-failed', UNIT);
    },
    state: async () => {
      const { stdout } = await systemctl(
        'show',
        UNIT,
        '--property=ActiveState,SubState,UnitFileState,MainPID,ActiveEnterTimestamp',
      );
      const facts = new Map(stdout.split('\n').map((line) => [line.split('=', 1)[0], line.replace(/^[^=]*=/, '')]));
      const active = facts.get('ActiveState') ?? '';
      const pid = Number(facts.get('MainPID') ?? 0);
      const isRunning = active === 'active';
      return {
        isEnabled: facts.get('UnitFileState') === 'enabled',
        isRunning,
        detail: `${active} (${facts.get('SubState') ?? ''})`,
        pid: pid > 0 ? pid : undefined,
        since: isRunning ? dateOf(facts.get('ActiveEnterTimestamp')) : undefined,
        hasFailed: active === 'failed' || active === 'inactive',
      };
    },
    logCommand: ({ lines, isFollowed, isJson }) => [
      'journalctl',
      '--user',
      `--unit=${UNIT}`,
      `--lines=${lines}`,
      '--no-pager',
      ...(isFollowed ? ['--follow'] : []),
      ...(isJson ? ['--output=json'] : []),
    ],
    findHint: async () => {
      const { code, stdout } = await run('loginctl', 'show-user', String(uid), '--property=Linger');
      // Where there is no loginctl, nobody ends a user's programs at logout.
      return code === 0 && stdout.trim() === 'Linger=no'
        ? 'It runs while you are logged in. To have it run from boot on, also without a login: loginctl enable-linger'
        : undefined;
    },
  };
};

/** After `su` or `sudo` the variable is missing, while the user's manager may well be there. */
const findBus = (env: NodeJS.ProcessEnv, uid: number): NodeJS.ProcessEnv => {
  const folder = `/run/user/${uid}`;
  return !env.XDG_RUNTIME_DIR && existsSync(join(folder, 'systemd')) ? { XDG_RUNTIME_DIR: folder } : {};
};

const notThere = (said: string): CliError =>
  new CliError(
    'unsupported-operation',
    `The systemd of this user does not answer (${oneLine(said) || 'no reason given'}): there is none, as in a container or in WSL without it, or this is not a login of the user.`,
    {
      next: `run "${typed('serve')}" under a supervisor of your own (${typed('service', 'install', '--print')} shows a unit to start from), or log in as the user itself, not by su or sudo`,
    },
  );

/** `Sun 2026-11-15 14:15:06 UTC` */
const dateOf = (text = ''): Date | undefined => {
  const [, day, time] = /(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)/.exec(text) ?? [];
  return day === undefined ? undefined : new Date(`${day}T${time}Z`);
};
