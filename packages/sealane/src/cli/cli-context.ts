import {
  adminKeyFile,
  createNamedFileReader,
  findAdminKey,
  isLoopback,
  loadConfig,
  type Config,
  type Flags,
  type LoadedConfig,
} from '#config';

import { createApiClient, type ApiClient } from './api-client.ts';
import { homeFolder } from './home-folder.ts';
import { CliError, toCliError, usageError } from './cli-error.ts';
import { createOutput, type Output } from './output.ts';

/** The options that every command takes. */
export interface GlobalOptions {
  readonly url?: string;
  readonly key?: string;
  readonly dataDir?: string;
  readonly config?: string;
  readonly json?: boolean;
  readonly color?: boolean;
  readonly quiet?: boolean;
}

/** What commands that only talk to a service share: where to write, and how to find it, when they need it. */
export interface ClientContext {
  readonly output: Output;
  readonly options: GlobalOptions;
  /** The address of the service, and whether somebody named it. */
  readonly address: () => { readonly url: string; readonly isNamed: boolean };
  readonly client: () => Promise<ApiClient>;
  /** The operator's key that this machine has. */
  readonly adminKey: () => Promise<AdminKey>;
}

/** What all commands share: the configuration as well. */
export interface CliContext extends ClientContext {
  readonly load: (flags?: Flags) => LoadedConfig;
  /** The same of a service that runs: it waits for nothing. */
  readonly loadAgain: (flags?: Flags) => LoadedConfig;
}

/** Without a file it stands in the configuration; without a key, the file is where the first start puts it. */
export type AdminKey =
  | { readonly key: string; readonly file?: string }
  | { readonly key?: undefined; readonly file: string };

export const createCliContext = (options: GlobalOptions, env: NodeJS.ProcessEnv = process.env): CliContext => {
  const { read, readAgain } = createNamedFileReader();
  const loadWith =
    (readNamed: typeof read) =>
    (flags: Flags = {}) =>
      loadConfig({
        flags: { dataDir: options.dataDir, config: options.config, ...flags },
        env,
        cwd: process.cwd(),
        home: homeFolder(),
        readNamed,
      });
  const load = loadWith(read);

  const address = () => {
    const named = options.url ?? (env.SEALANE_URL || undefined);
    if (named === undefined) return { url: urlOf(load().config), isNamed: false };
    if (!/^https?:\/\/./.test(named) || !URL.canParse(named) || /[?#]/.test(named))
      throw usageError(`${named} is not an address like http://127.0.0.1:7420.`, 'correct --url or SEALANE_URL');
    if (new URL(named).username !== '' || new URL(named).password !== '')
      throw usageError('An address has no name and password in it: a key does that.', '--key KEY, or SEALANE_API_KEY');
    return { url: named.replace(/\/+$/, ''), isNamed: true };
  };

  const adminKey = async (): Promise<AdminKey> => {
    const { config } = load();
    if (config.adminKey !== undefined) return { key: config.adminKey };
    const key = await findAdminKey(config.dataDir);
    const file = adminKeyFile(config.dataDir);
    return key === undefined ? { file } : { key, file };
  };

  /**
   * The admin key of this machine's data folder is for this machine's service: it is never sent to an address that only
   * somebody's option or variable names.
   */
  const keyFor = async (url: string): Promise<string | undefined> => {
    const given = options.key ?? (env.SEALANE_API_KEY || undefined);
    if (given !== undefined) return given;
    try {
      const { config } = load();
      const isOurs = isLoopback(new URL(url).hostname) || url === config.publicUrl || url === urlOf(config);
      return isOurs ? (await adminKey()).key : undefined;
    } catch (error) {
      const { code, message, next } = toCliError(error);
      // The address is known already: a key that is given leaves nothing to look for.
      throw code === 'bad-config'
        ? new CliError(code, message, {
            cause: error,
            next: `${next}   # or do without it: --key KEY, or export SEALANE_API_KEY=KEY`,
          })
        : error;
    }
  };

  return {
    output: createOutput({ json: options.json ?? false, quiet: options.quiet ?? false, color: options.color ?? true }),
    options,
    load,
    loadAgain: loadWith(readAgain),
    address,
    client: async () => {
      const { url } = address();
      return createApiClient(url, await keyFor(url));
    },
    adminKey,
  };
};

/** Where clients on this machine reach a service with this configuration. */
export const urlOf = ({ host, port }: Pick<Config, 'host' | 'port'>): string => {
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
};
