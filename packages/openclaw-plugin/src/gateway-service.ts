import type { ServerResponse } from 'node:http';

import type { Sealane } from 'sealane';

import { type ChannelDoor, CHANNEL_SETTINGS, createChannelDoor, createTakeover } from './channel/index.ts';
import { ROUTE_PREFIX } from './places.ts';
import type { PluginApi, PluginService, RouteHandler } from './plugin-api.ts';
import { PLUGIN_ID, readSettings } from './settings.ts';

export interface GatewayService extends PluginService {
  readonly handle: RouteHandler;
}

/** Sealane as a service of the Gateway: it lives from `start` to `stop`, and may be started again after that. */
export const createGatewayService = (api: PluginApi): GatewayService => {
  let sealane: Sealane | undefined;
  let door: ChannelDoor | undefined;
  return {
    id: PLUGIN_ID,
    ...(api.pluginConfig?.takeOverChannel === true && { reload: { configPrefixes: CHANNEL_SETTINGS } }),
    start: async (context) => {
      const settings = readSettings(context.config);
      const takeover = settings.takeOverChannel
        ? createTakeover({ config: context.config, prefix: ROUTE_PREFIX, routing: api.runtime.channel.routing })
        : undefined;
      // Loaded only here: commands of OpenClaw that ask what the plugin has need nothing of it.
      const { startSealane } = await import('./start-sealane.ts');
      sealane = await startSealane(api, context, settings, takeover);
      door =
        takeover &&
        createChannelDoor({
          sealane,
          prefix: ROUTE_PREFIX,
          agentOf: takeover.agentOf,
          onError: (error) => context.logger.error(`a2a-tasks: a call of a peer was not passed on: ${String(error)}`),
        });
      context.logger.info(`a2a-tasks: ready at ${ROUTE_PREFIX}, agents ${settings.agents.join(', ')}`);
    },
    stop: async () => {
      const stopping = sealane;
      sealane = undefined;
      door = undefined;
      await stopping?.close();
    },
    handle: (request, response) => {
      if (door?.isMeant(request)) door.take(request, response);
      else if (sealane) sealane.handler(request, response);
      else answerUnavailable(response);
      // Not when it is answered: a stream or a call that waits must not hold up restarts and reloads.
      return true;
    },
  };
};

const answerUnavailable = (response: ServerResponse): void => {
  const error = { code: 503, status: 'UNAVAILABLE', message: UNAVAILABLE };
  response.writeHead(503, { 'content-type': 'application/json', 'retry-after': '1', 'cache-control': 'no-store' });
  response.end(JSON.stringify({ error }));
};

const UNAVAILABLE =
  "The A2A task service is starting or stopping: try again. If it stays so, the Gateway's log says why it did not start.";
