import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';

import { flagName, OVERRIDES, type Flags, type LoadedConfig, type OverrideName } from '#config';

import { usageError } from '../cli-error.ts';
import { typed } from '../command-name.ts';

/** What the system shall start. Paths are absolute, and there is no secret in it: everybody can see it run. */
export interface ServicePlan {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly path: string;
  /** The flags of `args`, to find the same configuration again. */
  readonly flags: Flags;
}

const SCRIPT = fileURLToPath(new URL('../../../bin/sealane.mjs', import.meta.url));

/**
 * The service starts with what was given here, by flag or by variable: the system knows nothing of this shell's
 * variables. What stands in the configuration file stays there, and can be changed there.
 */
export const planService = (
  { config, file, sourceOf }: LoadedConfig,
  surroundings: { readonly home: string; readonly path: string; readonly isFileNamed: boolean },
): ServicePlan => {
  refuseSecrets(config.store, sourceOf);
  if (config.port === 0)
    throw usageError('A service needs an address that stays: port 0 is another one at each start.');
  const given: Partial<Record<OverrideName, string | boolean>> = {};
  for (const name of Object.keys(OVERRIDES) as OverrideName[]) {
    const { kind } = sourceOf([name]);
    // The data folder is told even when it is the usual one, since that depends on variables as well.
    const isTold = kind === 'flag' || kind === 'environment' || (name === 'dataDir' && kind === 'default');
    const value = config[name];
    if (isTold && value !== undefined) given[name] = typeof value === 'boolean' ? value : String(value);
  }
  const flags: Flags = { ...given, ...(surroundings.isFileNamed && { config: file }) };
  return {
    program: process.execPath,
    args: [SCRIPT, 'serve', ...wordsOf(flags)],
    // Where a terminal starts, too: agents without a folder of their own work there, and not beside the admin key.
    cwd: surroundings.home,
    path: lastingPath(surroundings.path),
    flags,
  };
};

const wordsOf = ({ config, ...settings }: Flags): readonly string[] => [
  ...(config === undefined ? [] : ['--config', config]),
  ...Object.entries(settings).flatMap(([name, value]) => {
    if (value === undefined || value === false) return [];
    const flag = flagName(name as OverrideName);
    return value === true ? [flag] : [flag, value];
  }),
];

const refuseSecrets = (store: string, sourceOf: LoadedConfig['sourceOf']): void => {
  const isGiven = (name: OverrideName) => ['flag', 'environment'].includes(sourceOf([name]).kind);
  if (isGiven('adminKey')) {
    const source = sourceOf(['adminKey']);
    throw usageError(
      `The admin key of ${'name' in source ? source.name : 'the command line'} would be shown to every user of this machine, in the list of processes.`,
      `leave it out, and the data folder keeps the key; or ${typed('service', 'install', '--admin-key-file', 'FILE')}`,
    );
  }
  if (isGiven('store') && URL.canParse(store) && new URL(store).password !== '') {
    throw usageError(
      'The password of the database would be shown to every user of this machine, in the list of processes.',
      'write the address into a file of mode 600, and into sealane.yaml: store: file:/path/of/that/file',
    );
  }
};

/** Agents are found where this shell finds them, but for places that npm makes up for one command. */
const lastingPath = (path: string): string =>
  [...new Set(path.split(':'))]
    .filter((folder) => isAbsolute(folder) && !/\/(node_modules|_npx|node-gyp-bin)(\/|$)/.test(folder))
    .join(':');

const MARK = 'sealane-flags:';

/** A line for a comment of the file. `-` is escaped, since two of them would end a comment of XML. */
export const flagsLine = (flags: Flags): string =>
  `${MARK} ${JSON.stringify(flags).replaceAll('-', String.raw`\u002d`)}`;

/** What a file of ours was made with; undefined when it is somebody else's. */
export const flagsOf = (text: string): Flags | undefined => {
  const [, flags] = new RegExp(`${MARK} (\\{.*\\})`).exec(text) ?? [];
  try {
    return flags === undefined ? undefined : (JSON.parse(flags) as Flags);
  } catch {
    return undefined;
  }
};
