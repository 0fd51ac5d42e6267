import { mkdir, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { homedir } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { loadConfig, type Config, type Flags } from '#config';

import { CliError, toCliError } from '../cli-error.ts';
import { urlOf, type CliContext } from '../cli-context.ts';
import { typed } from '../command-name.ts';
import { writeNewFile } from '../new-file.ts';
import { findPortHolder } from '../port-holder.ts';
import type { ServiceManager, ServiceState } from './service-manager.ts';
import { flagsOf, planService, type ServicePlan } from './service-plan.ts';

const READY_MS = 60_000;
const LOOK_AGAIN_MS = 250;
const ANSWER_MS = 5000;

export const planOf = ({ load, options }: CliContext, flags: Flags): ServicePlan =>
  planService(load(flags), {
    home: homedir(),
    path: process.env.PATH ?? '',
    isFileNamed: options.config !== undefined || Boolean(process.env.SEALANE_CONFIG),
  });

/** A service of ours that the system knows, and where it would be with the configuration of this moment. */
export interface Installed {
  readonly url?: string;
  readonly dataDir?: string;
  /** Why the configuration cannot be read. */
  readonly problem?: string;
}

export const findInstalled = async (manager: ServiceManager): Promise<Installed | undefined> => {
  const text = await findText(manager.file);
  const flags = text === undefined ? undefined : flagsOf(text);
  if (!flags) return undefined;
  try {
    const { dataDir, ...config } = await configFor(manager, flags);
    return { url: urlOf(config), dataDir };
  } catch (error) {
    return { problem: toCliError(error).message, ...(typeof flags.dataDir === 'string' && { dataDir: flags.dataDir }) };
  }
};

export interface InstalledNow {
  readonly url: string;
  readonly dataDir: string;
  /** There was one before. */
  readonly isUpdate: boolean;
  readonly pid: number | undefined;
}

/** Writes the file, starts the service and waits until it answers. */
export const installService = async (
  manager: ServiceManager,
  plan: ServicePlan,
  { signal, tell }: { readonly signal: AbortSignal; readonly tell: (words: string) => void },
): Promise<InstalledNow> => {
  await manager.check();
  const config = await configFor(manager, plan.flags).catch((error: unknown) => {
    throw new CliError('bad-config', toCliError(error).message, {
      cause: error,
      // This shell could read it, or we would not be here.
      next: `the service gets no variables of this shell: put such values into files, as in "token: file:/path/of/the/file"${manager.kind === 'systemd' ? ', or into ~/.config/environment.d' : ''}`,
    });
  });
  const url = urlOf(config);
  const installed = await findInstalled(manager);
  if (!installed && (await findText(manager.file)) !== undefined)
    throw new CliError('conflict', `${manager.file} was not written by this command.`, {
      next: `move it away, then ${typed('service', 'install')}`,
    });
  // Whoever else answers there would be taken for the service.
  const isOurs = installed?.url === url && (await manager.state()).isRunning;
  if (!isOurs && (await isAnswered(config))) throw portTaken(config);
  await mkdir(dirname(manager.file), { recursive: true });
  const text = manager.render(plan);
  await writeNewFile(
    manager.file,
    { force: true },
    (async function* content() {
      yield Buffer.from(text);
    })(),
  );
  tell(`starting the service on ${url}`);
  await manager.start();
  const { pid } = await untilReady(manager, url, signal);
  return { url, dataDir: config.dataDir, isUpdate: installed !== undefined, pid };
};

/** `ok`, or why the service takes no tasks. */
export const readyAnswer = async (url: string): Promise<string> => {
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(ANSWER_MS) });
    const { status } = (await response.json()) as { readonly status?: unknown };
    if (response.ok && status === 'ok') return 'ok';
    return typeof status === 'string' ? status : `HTTP ${response.status}`;
  } catch {
    return `nothing answers on ${url}`;
  }
};

/** There is no event to wait for: the service is a process of somebody else's. */
const untilReady = async (manager: ServiceManager, url: string, signal: AbortSignal): Promise<ServiceState> => {
  for (const end = Date.now() + READY_MS; ; await sleep(LOOK_AGAIN_MS, undefined, { signal })) {
    const answer = await readyAnswer(url);
    const state = await manager.state();
    if (answer === 'ok' && state.isRunning) return state;
    if (state.hasFailed || Date.now() > end)
      throw new CliError('unavailable', `The service was started but is not ready: ${state.detail}; ${answer}.`, {
        next: typed('service', 'logs'),
      });
  }
};

/** As the service will see it: with the variables that the system gives it, not with those of this shell. */
const configFor = async (manager: ServiceManager, flags: Flags): Promise<Config> => {
  const home = homedir();
  return loadConfig({ flags, env: { ...(await manager.environment()), HOME: home }, cwd: home, home }).config;
};

const findText = (file: string): Promise<string | undefined> =>
  readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });

const isAnswered = (config: Config): Promise<boolean> =>
  new Promise((resolve) => {
    const { hostname } = new URL(urlOf(config));
    const socket = connect({ host: hostname.replaceAll(/[[\]]/g, ''), port: config.port, timeout: ANSWER_MS });
    const answer = (isThere: boolean) => () => {
      socket.destroy();
      resolve(isThere);
    };
    socket.once('connect', answer(true)).once('error', answer(false)).once('timeout', answer(false));
  });

const portTaken = ({ port }: Config): CliError => {
  const holder = findPortHolder(port);
  return new CliError('conflict', `Port ${port} is taken${holder === undefined ? '' : ` by ${holder}`}.`, {
    next: `stop that first, or ${typed('service', 'install', '--port', String(port + 1))}`,
  });
};
