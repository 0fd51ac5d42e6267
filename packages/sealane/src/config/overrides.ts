import type { Config } from './config-schema.ts';

interface Override {
  /** As commander wants it; `<…>` names a value, a flag without it is true when present. */
  readonly flag: string;
  readonly env?: string;
  /** Text from the command line and the environment becomes a number only where one is meant. */
  readonly isNumber?: true;
  /** Several values, with commas between them. */
  readonly isList?: true;
}

/** The settings that can be given outside the file. Each is a top-level setting, so a later source replaces it whole. */
export const OVERRIDES = {
  port: { flag: '--port <port>', env: 'SEALANE_PORT', isNumber: true },
  host: { flag: '--host <address>', env: 'SEALANE_HOST' },
  dataDir: { flag: '--data-dir <folder>', env: 'SEALANE_DATA_DIR' },
  store: { flag: '--store <store>', env: 'SEALANE_STORE' },
  adminKey: { flag: '--admin-key <key>', env: 'SEALANE_ADMIN_KEY' },
  adminKeyFile: { flag: '--admin-key-file <file>' },
  grpcPort: { flag: '--grpc-port <port>', env: 'SEALANE_GRPC_PORT', isNumber: true },
  publicUrl: { flag: '--public-url <url>', env: 'SEALANE_PUBLIC_URL' },
  trustedProxies: { flag: '--trusted-proxies <list>', env: 'SEALANE_TRUSTED_PROXIES', isList: true },
  insecureHttp: { flag: '--insecure-http' },
  allowPrivateWebhooks: { flag: '--allow-private-webhooks' },
  logLevel: { flag: '--log-level <level>', env: 'SEALANE_LOG_LEVEL' },
} as const satisfies Partial<Record<keyof Config, Override>>;

export type OverrideName = keyof typeof OVERRIDES;

/** What a flag is called, without its value. */
export const flagName = (name: OverrideName): string => OVERRIDES[name].flag.split(' ')[0] ?? name;

export interface GivenSetting {
  readonly value: unknown;
  /** `--port` or `SEALANE_PORT`. */
  readonly name: string;
}

export type Flags = Readonly<Partial<Record<OverrideName, string | boolean | undefined>>> & {
  readonly config?: string | undefined;
};

export const settingsOfFlags = (flags: Flags): ReadonlyMap<string, GivenSetting> =>
  collect((name) => (flags[name] === undefined ? undefined : { text: flags[name], name: flagName(name) }));

export const settingsOfEnvironment = (env: NodeJS.ProcessEnv): ReadonlyMap<string, GivenSetting> =>
  collect((name) => {
    const override: Override = OVERRIDES[name];
    // An empty variable is how many tools spell "not set".
    const text = override.env === undefined ? undefined : env[override.env];
    return text === undefined || text === '' || override.env === undefined ? undefined : { text, name: override.env };
  });

const collect = (
  find: (name: OverrideName) => { readonly text: string | boolean; readonly name: string } | undefined,
): ReadonlyMap<string, GivenSetting> => {
  const settings = new Map<string, GivenSetting>();
  for (const name of Object.keys(OVERRIDES) as OverrideName[]) {
    const found = find(name);
    if (found) settings.set(name, { name: found.name, value: read(found.text, OVERRIDES[name]) });
  }
  return settings;
};

/** Text that is not a number stays text: validation then says so, with the place it came from. */
const read = (text: string | boolean, override: Override): unknown => {
  if (override.isList && typeof text === 'string') return text.split(',').map((item) => item.trim());
  return override.isNumber && typeof text === 'string' && /^\d+$/.test(text) ? Number(text) : text;
};
