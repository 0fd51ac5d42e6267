import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

import { resolvePath } from '#config';

import { CliError } from '../cli-error.ts';
import { findToken, type FoundToken } from './find-token.ts';
import type { Settings } from './openclaw-settings.ts';
import { readJson5 } from './read-json5.ts';

/** The OpenClaw of this machine, as far as it can be seen without asking it. */
export interface FoundOpenclaw {
  readonly configFile: string;
  readonly hasConfig: boolean;
  /** Where the program is, if it is in PATH. */
  readonly program: string | undefined;
  /** Its Gateway. */
  readonly url: string;
  readonly token: FoundToken;
  /** The ids of its agents, the default one first. */
  readonly agents: readonly [string, ...string[]];
  /** What may be otherwise than it looks. */
  readonly warnings: readonly string[];
}

export interface Surroundings {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly home: string;
}

const DEFAULT_PORT = 18_789;

/** Looks where OpenClaw itself looks; `undefined` when there is neither a configuration nor the program. */
export const findOpenclaw = ({ env, cwd, home }: Surroundings): FoundOpenclaw | undefined => {
  // OpenClaw can have a home of its own, which `~` then stands for in its other variables.
  const ownHome = env.OPENCLAW_HOME?.trim();
  const openclawHome = ownHome ? resolvePath(ownHome, { base: cwd, home }) : home;
  const place = (path: string) => resolvePath(path, { base: cwd, home: openclawHome });
  const stateDir = place(env.OPENCLAW_STATE_DIR || '~/.openclaw');
  const configFile = env.OPENCLAW_CONFIG_PATH ? place(env.OPENCLAW_CONFIG_PATH) : join(stateDir, 'openclaw.json');
  const program = findProgram('openclaw', env.PATH ?? '');
  const text = readText(configFile);
  if (program === undefined && text === undefined) return undefined;

  const warnings: string[] = [];
  const config = settingsOf(readSettings(configFile, text, warnings));
  if (config.has('$include') || config.at('gateway').has('$include'))
    warnings.push(`${configFile} includes other files, which are not read here: check what was written.`);
  const { url, isRemote } = findGateway(config, env, warnings);
  return {
    configFile,
    hasConfig: text !== undefined,
    program,
    url,
    token: findToken(config, { isRemote, env, dotEnv: readText(join(stateDir, '.env')) ?? '' }),
    agents: findAgents(config),
    warnings,
  };
};

const settingsOf = (value: unknown): Settings => {
  const record = typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  const has = (name: string) => Object.hasOwn(record, name);
  return {
    at: (name) => settingsOf(has(name) ? record[name] : undefined),
    has,
    value,
    entries: Object.entries(record).map(([name, item]) => [name, settingsOf(item)]),
  };
};

const readText = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new CliError('bad-config', `${file} cannot be read (${code ?? String(error)}).`, {
      next: 'run this as the user that OpenClaw belongs to',
      cause: error,
    });
  }
};

const readSettings = (file: string, text: string | undefined, warnings: string[]): unknown => {
  if (text === undefined) {
    warnings.push(`OpenClaw is installed, but there is no ${file} yet: type \`openclaw onboard\` to set it up.`);
    return {};
  }
  try {
    return readJson5(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    warnings.push(`${file} cannot be read (${why}): the defaults of OpenClaw are assumed.`);
    return {};
  }
};

/** Names a Gateway on another machine, when this OpenClaw is a client of one. */
const findGateway = (
  config: Settings,
  env: NodeJS.ProcessEnv,
  warnings: string[],
): { readonly url: string; readonly isRemote: boolean } => {
  const gateway = config.at('gateway');
  const remote = gateway.at('remote').at('url').value;
  if (gateway.at('mode').value === 'remote') {
    if (typeof remote === 'string' && /^wss?:\/\/./.test(remote) && URL.canParse(remote))
      return { url: remote, isRemote: true };
    warnings.push('gateway.remote.url of OpenClaw is no WebSocket address: a Gateway on this machine is assumed.');
  }
  const port = [Number(env.OPENCLAW_GATEWAY_PORT), gateway.at('port').value].find(isPort) ?? DEFAULT_PORT;
  const scheme = gateway.at('tls').at('enabled').value === true ? 'wss' : 'ws';
  return { url: `${scheme}://127.0.0.1:${port}`, isRemote: false };
};

const isPort = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) > 0 && Number(value) < 65_536;

const AGENT_ID = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** Newer versions keep agents by id (`agents.entries`), older ones in a list; without either there is `main`. */
const findAgents = (config: Settings): readonly [string, ...string[]] => {
  const agents = config.at('agents');
  const listed = agents.at('list').entries.map(([, agent]) => [agent.at('id').value, agent] as const);
  const known = [...agents.at('entries').entries, ...listed].map(([id, agent]) => ({
    id: typeof id === 'string' ? id.toLowerCase() : '',
    isDefault: agent.at('default').value === true,
  }));
  const usable = known.filter(({ id }) => AGENT_ID.test(id));
  const first = usable.find(({ isDefault }) => isDefault) ?? usable.find(({ id }) => id === 'main') ?? usable[0];
  if (!first) return ['main'];
  return [first.id, ...new Set(usable.map(({ id }) => id).filter((id) => id !== first.id))];
};

const findProgram = (name: string, path: string): string | undefined =>
  path
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, name))
    .find(isProgram);

const isProgram = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
};
