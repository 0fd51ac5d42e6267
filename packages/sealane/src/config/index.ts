/**
 * Configuration: one schema, and the way from flags, environment and file to a value that the other modules can trust.
 * It refuses settings that it does not know, and reports all problems at once, each with its place. It also keeps the
 * admin key of a data folder. Start with `config-schema.ts`, then `load-config.ts`.
 */
export { adminKeyFile, ensureAdminKey, findAdminKey } from './admin-key.ts';
export type { AgentConfig } from './agent-schema.ts';
export { isLoopback } from './check-config.ts';
export type { ConfigProblem } from './config-error.ts';
export { ConfigError } from './config-error.ts';
export type { SettingPath } from './parse-yaml.ts';
export type { Config, KeyConfig } from './config-schema.ts';
export { configJsonSchema, configSchema, rateSchema } from './config-schema.ts';
export type { SettingView } from './describe-config.ts';
export { describeConfig } from './describe-config.ts';
export { otherKindOf } from './file-kind.ts';
export type { ConfigInput, LoadedConfig, Source } from './load-config.ts';
export { loadConfig } from './load-config.ts';
export { createNamedFileReader } from './named-file-reader.ts';
export { nearestWord } from './nearest-word.ts';
export type { Flags, OverrideName } from './overrides.ts';
export { flagName, OVERRIDES } from './overrides.ts';
export { resolvePath } from './resolve-path.ts';
export type { StoreTarget } from './store-target.ts';
export { storeTarget } from './store-target.ts';
export { watchConfig } from './watch-config.ts';
