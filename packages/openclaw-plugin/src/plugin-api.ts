import type { IncomingMessage, ServerResponse } from 'node:http';

import type { OpenclawRuntime } from 'sealane';

import type { ChannelRuntime } from './channel/index.ts';
import type { CommandsApi } from './commands/index.ts';

/** What we use of the API that OpenClaw hands to a plugin. */
export interface PluginApi extends CommandsApi {
  /** Only in `full` may anything be started; the other modes ask what the plugin has. */
  readonly registrationMode: string;
  readonly runtime: OpenclawRuntime & ChannelRuntime & CommandsApi['runtime'];
  /** What stands in OpenClaw's configuration for this plugin, already checked by its schema. */
  readonly pluginConfig?: { readonly takeOverChannel?: boolean };
  registerHttpRoute(route: {
    readonly path: string;
    readonly match: 'exact' | 'prefix';
    /** `plugin`: the Gateway lets every request through, and the plugin asks for its own keys. */
    readonly auth: 'plugin';
    readonly handler: RouteHandler;
  }): void;
  registerService(service: PluginService): void;
}

/** True: the request is answered, or will be. The Gateway waits with restarts and reloads until it has that word. */
export type RouteHandler = (request: IncomingMessage, response: ServerResponse) => boolean;

export interface PluginService {
  readonly id: string;
  /** The Gateway stops and starts the service when one of these settings of OpenClaw changes. */
  readonly reload?: { readonly configPrefixes: readonly string[] };
  start(context: ServiceContext): Promise<void>;
  stop(): Promise<void>;
}

export interface ServiceContext {
  /** OpenClaw's configuration as it is when the service starts. */
  readonly config: unknown;
  readonly stateDir: string;
  readonly logger: PluginLogger;
}

export interface PluginLogger {
  debug?(text: string): void;
  info(text: string): void;
  warn(text: string): void;
  error(text: string): void;
}
