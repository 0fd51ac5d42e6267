import { registerCardRoutes } from './channel/index.ts';
import { registerCommands } from './commands/index.ts';
import { createGatewayService } from './gateway-service.ts';
import { ROUTE_PREFIX } from './places.ts';
import type { PluginApi } from './plugin-api.ts';
import { PLUGIN_ID } from './settings.ts';

/** OpenClaw calls `register` again and again, mostly to ask what the plugin has. Only in `full` may it start anything. */
const plugin = {
  id: PLUGIN_ID,
  name: 'A2A tasks (Sealane)',
  description: 'A durable A2A task service at /a2a: every task is stored, ordered, can be stopped and replayed.',
  register: (api: PluginApi): void => {
    registerCommands(api);
    if (api.registrationMode !== 'full') return;
    const service = createGatewayService(api);
    api.registerService(service);
    api.registerHttpRoute({ path: ROUTE_PREFIX, match: 'prefix', auth: 'plugin', handler: service.handle });
    if (api.pluginConfig?.takeOverChannel === true) registerCardRoutes(api, service.handle);
  },
};

export default plugin;
