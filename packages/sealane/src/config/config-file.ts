import { dirname } from 'node:path';

import type { ConfigProblem } from './config-error.ts';
import { parseYaml, type SettingPath } from './parse-yaml.ts';
import { NotAFileError, readRegularFile } from './read-regular-file.ts';
import { resolvePath } from './resolve-path.ts';

export interface ConfigFile {
  readonly path: string;
  /** Plain data, with `${ENV}` and `file:` already replaced. */
  readonly values: Readonly<Record<string, unknown>>;
  readonly problems: readonly ConfigProblem[];
  /** Settings whose value came from somewhere else, by dotted path: `agents.main.token` → `${TOKEN}`. */
  readonly borrowed: ReadonlyMap<string, string>;
  /** The line of a setting, or of the deepest part of its path that the file has. */
  readonly lineOf: (path: SettingPath) => number;
}

interface Surroundings {
  readonly env: NodeJS.ProcessEnv;
  readonly home: string;
}

/** Reads the YAML file and fetches its secrets. What cannot be read is a problem, never thrown; no file is `undefined`. */
export const readConfigFile = (
  path: string,
  surroundings: Surroundings,
  read: (path: string) => string = readRegularFile,
): ConfigFile | undefined => {
  let text: string;
  try {
    text = read(path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    // A file in place of the folder is the store's to complain about: it knows what it needed the folder for.
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    return {
      path,
      values: {},
      problems: [{ where: path, setting: '', message: whyUnread(error) }],
      borrowed: new Map(),
      lineOf: () => 1,
    };
  }
  return parseConfigFile(path, text, surroundings);
};

const whyUnread = (error: unknown): string => {
  if (error instanceof NotAFileError)
    return `is ${error.kind}, not a file: put the settings into a file, and give its name with --config if it has another.`;
  return (error as NodeJS.ErrnoException).code === 'EACCES'
    ? 'may not be read by this user. Run this as the owner of the file and of its folder, make both readable, or ' +
        'choose others with --data-dir or --config.'
    : `cannot be read: ${String(error)}`;
};

const parseConfigFile = (path: string, text: string, surroundings: Surroundings): ConfigFile => {
  const { data, mistakes, lineOf, writtenAt } = parseYaml(text);
  const empty = { path, values: {}, borrowed: new Map<string, string>(), lineOf };
  if (mistakes.length > 0) {
    const problems = mistakes.map(({ line, message }) => ({
      where: line === undefined ? path : `${path}:${line}`,
      setting: '',
      message,
    }));
    return { ...empty, problems };
  }
  if (data === null || data === undefined) return { ...empty, problems: [] };
  if (!isRecord(data))
    return {
      ...empty,
      problems: [{ where: `${path}:1`, setting: '', message: 'must be a map of settings, like `port: 7420`.' }],
    };

  const problems: ConfigProblem[] = [];
  const borrowed = new Map<string, string>();
  const report = (setting: SettingPath, message: string) =>
    problems.push({ where: `${path}:${lineOf(setting)}`, setting: setting.join('.'), message });

  /** `${NAME}` anywhere in a text; `$${` stays `${`. */
  const replaceVariables = (value: string, setting: SettingPath): unknown => {
    const replaced = value.replaceAll(
      /\$(\$\{)|\$\{([A-Za-z_]\w*)\}/g,
      (whole, escaped: string | undefined, name: string) => {
        if (escaped !== undefined) return escaped;
        borrowed.set(setting.join('.'), whole);
        const found = surroundings.env[name];
        if (found === undefined)
          report(setting, `needs the environment variable ${name}, which is not set: export ${name}=…`);
        return found ?? '';
      },
    );
    if (replaced === value || !/^\$\{\w+\}$/.test(value)) return replaced;
    // `port: ${PORT}` means a number, `token: "${TOKEN}"` a text, whatever is in it.
    return writtenAt(setting)?.isPlain === true && /^(-?\d+(\.\d+)?|true|false)$/.test(replaced)
      ? JSON.parse(replaced)
      : replaced;
  };

  const readSecret = (value: string, setting: SettingPath): string => {
    const file = resolvePath(value.slice('file:'.length), { base: dirname(path), home: surroundings.home });
    borrowed.set(setting.join('.'), value);
    try {
      return readRegularFile(file).trim();
    } catch (error) {
      report(setting, `names the file ${file}, ${whySecretUnread(error)}`);
      return '';
    }
  };

  const fetch = (value: unknown, setting: SettingPath, isInList: boolean): unknown => {
    if (typeof value === 'string') {
      // An argument of a command that happens to start with `file:` is an argument; secrets stand in maps.
      return !isInList && /^file:\S/.test(value) ? readSecret(value, setting) : replaceVariables(value, setting);
    }
    if (typeof value === 'number' && !Number.isFinite(value))
      report(setting, `must be a finite number, not ${writtenAt(setting)?.source ?? value}.`);
    if (Array.isArray(value)) return value.map((item, index) => fetch(item, [...setting, index], true));
    if (!isRecord(value)) return value;
    // Objects keep what they inherit from under this name: validation passes over it, and what it names would be lost.
    if (Object.hasOwn(value, '__proto__')) report([...setting, '__proto__'], 'is not a possible name: choose another.');
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fetch(item, [...setting, key], false)]));
  };

  const values = fetch(data, [], false) as Readonly<Record<string, unknown>>;
  return { path, values, problems, borrowed, lineOf };
};

/** Goes on after the name of a file that holds a secret. */
export const whySecretUnread = (error: unknown): string =>
  error instanceof NotAFileError
    ? `which is ${error.kind}: name a file that holds the secret.`
    : `which cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)}).`;

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
