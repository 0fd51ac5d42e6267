import { dirname, join } from 'node:path';

import { checkConfig } from './check-config.ts';
import { ConfigError, type ConfigProblem } from './config-error.ts';
import { readConfigFile, whySecretUnread, type ConfigFile } from './config-file.ts';
import { configSchema, type Config } from './config-schema.ts';
import { explainIssue } from './explain-issue.ts';
import { settingsOfEnvironment, settingsOfFlags, type Flags, type GivenSetting } from './overrides.ts';
import type { SettingPath } from './parse-yaml.ts';
import { readRegularFile } from './read-regular-file.ts';
import { resolvePath } from './resolve-path.ts';
import { isSecretSetting } from './secret-settings.ts';

export interface ConfigInput {
  readonly flags: Flags;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly home: string;
  /** Reads files that were named outside the file, which may be more than files; without it, nothing else is read. */
  readonly readNamed?: (path: string) => string;
}

export type Source =
  | { readonly kind: 'flag' | 'environment'; readonly name: string }
  | { readonly kind: 'file'; readonly path: string; readonly line: number }
  | { readonly kind: 'default' };

export interface LoadedConfig {
  readonly config: Config;
  /** Where the file is or would be. */
  readonly file: string;
  readonly fileExists: boolean;
  /** Where a value came from. */
  readonly sourceOf: (path: SettingPath) => Source;
  /** The `${ENV}` or `file:` that a value of the file was fetched from. */
  readonly borrowedFrom: (path: SettingPath) => string | undefined;
}

/** Flags win over the environment, the environment over the file, the file over the defaults. Throws `ConfigError`. */
export const loadConfig = (input: ConfigInput): LoadedConfig => {
  const flags = settingsOfFlags(input.flags);
  const environment = settingsOfEnvironment(input.env);
  const problems: ConfigProblem[] = [];

  const { path, isNamed } = findFile(input, flags, environment);
  const { readNamed = readRegularFile } = input;
  const file = readConfigFile(path, input, isNamed ? readNamed : readRegularFile);
  if (!file && isNamed)
    problems.push({ where: path, setting: '', message: 'does not exist: correct --config or SEALANE_CONFIG.' });
  problems.push(...(file?.problems ?? []));

  const sourceOf = (setting: SettingPath) => findSource(setting, flags, environment, file);
  const report = (setting: SettingPath, message: string) =>
    problems.push({ where: placeOf(setting, sourceOf), setting: setting.join('.'), message });
  const borrowedFrom = (setting: SettingPath) =>
    sourceOf(setting).kind === 'file' ? file?.borrowed.get(setting.join('.')) : undefined;
  const isHidden = (setting: SettingPath) => isSecretSetting(setting) || borrowedFrom(setting) !== undefined;

  const given = resolvePaths({ ...file?.values, ...valuesOf(environment), ...valuesOf(flags) }, sourceOf, input);
  const values = readAdminKeyFile(given, sourceOf, report, readNamed);
  const parsed = configSchema.safeParse(values);
  for (const { path: setting, message } of (parsed.error?.issues ?? []).flatMap((issue) =>
    explainIssue(issue, values, isHidden),
  )) {
    // A secret that could not be fetched has been reported already.
    if (!file?.problems.some((problem) => problem.setting === setting.join('.'))) report(setting, message);
  }
  checkConfig(values, report);

  if (!parsed.success || problems.length > 0) throw new ConfigError(problems);
  return {
    config: { ...parsed.data, dataDir: resolvePath(parsed.data.dataDir, { base: input.cwd, home: input.home }) },
    file: path,
    fileExists: file !== undefined,
    sourceOf,
    borrowedFrom,
  };
};

/** The file lies in the data folder unless it is named; only then can it say itself where the data folder is. */
const findFile = (
  { flags, env, cwd, home }: ConfigInput,
  ...layers: readonly ReadonlyMap<string, GivenSetting>[]
): { readonly path: string; readonly isNamed: boolean } => {
  const named = flags.config ?? (env.SEALANE_CONFIG || undefined);
  if (named !== undefined) return { path: resolvePath(named, { base: cwd, home }), isNamed: true };
  const dataDir = layers.map((layer) => layer.get('dataDir')?.value).find((value) => typeof value === 'string');
  return { path: join(resolvePath(dataDir ?? '~/.sealane', { base: cwd, home }), 'sealane.yaml'), isNamed: false };
};

const findSource = (
  path: SettingPath,
  flags: ReadonlyMap<string, GivenSetting>,
  environment: ReadonlyMap<string, GivenSetting>,
  file: ConfigFile | undefined,
): Source => {
  const top = String(path[0] ?? '');
  const flag = flags.get(top);
  if (flag) return { kind: 'flag', name: flag.name };
  const variable = environment.get(top);
  if (variable) return { kind: 'environment', name: variable.name };
  return file && has(file.values, path)
    ? { kind: 'file', path: file.path, line: file.lineOf(path) }
    : { kind: 'default' };
};

const has = (values: unknown, [step, ...rest]: SettingPath): boolean => {
  if (step === undefined) return true;
  if (typeof values !== 'object' || values === null || !Object.hasOwn(values, step)) return false;
  return has((values as Record<string | number, unknown>)[step], rest);
};

/** Where to correct a setting; one that is missing is put where the map around it is. */
const placeOf = (path: SettingPath, sourceOf: (path: SettingPath) => Source): string => {
  const source = sourceOf(path);
  if (source.kind === 'file') return `${source.path}:${source.line}`;
  if (source.kind !== 'default') return source.name;
  return path.length > 1 ? placeOf(path.slice(0, -1), sourceOf) : 'defaults';
};

const valuesOf = (settings: ReadonlyMap<string, GivenSetting>): Record<string, unknown> =>
  Object.fromEntries([...settings].map(([name, { value }]) => [name, value]));

/** Paths on the command line and in the environment start at the current folder, those in the file at the file. */
const resolvePaths = (
  values: Record<string, unknown>,
  sourceOf: (path: SettingPath) => Source,
  { cwd, home }: ConfigInput,
): Record<string, unknown> => {
  const resolved = { ...values };
  for (const name of ['dataDir', 'adminKeyFile']) {
    const value = values[name];
    const source = sourceOf([name]);
    if (typeof value !== 'string' || value === '') continue;
    resolved[name] = resolvePath(value, { base: source.kind === 'file' ? dirname(source.path) : cwd, home });
  }
  return resolved;
};

const RANK = { flag: 3, environment: 2, file: 1, default: 0 } as const;

/** The key itself or a file with it, whichever was given closer to the command line. */
const readAdminKeyFile = (
  values: Record<string, unknown>,
  sourceOf: (path: SettingPath) => Source,
  report: (path: SettingPath, message: string) => void,
  readNamed: (path: string) => string,
): Record<string, unknown> => {
  const file = values.adminKeyFile;
  if (typeof file !== 'string') return values;
  const keyRank = RANK[sourceOf(['adminKey']).kind];
  const fileRank = RANK[sourceOf(['adminKeyFile']).kind];
  if (keyRank > fileRank) return values;
  if (keyRank === fileRank) {
    report(['adminKeyFile'], 'and adminKey are both given: keep one of them.');
    return values;
  }
  try {
    const read = fileRank > RANK.file ? readNamed : readRegularFile;
    return { ...values, adminKey: read(file).trim() };
  } catch (error) {
    report(['adminKeyFile'], `names ${file}, ${whySecretUnread(error)}`);
    return values;
  }
};
