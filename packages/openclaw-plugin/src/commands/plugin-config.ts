import { z } from 'zod';

import { type ChannelConfig, findChannel } from '../channel/index.ts';
import { PLUGIN_ID } from '../settings.ts';

/** What OpenClaw's configuration says about the plugin and about the channel beside it. */
export interface PluginConfig {
  readonly isEnabled: boolean;
  readonly takesOver: boolean;
  readonly channel: ChannelConfig | undefined;
}

const configShape = z.object({
  plugins: z
    .object({
      enabled: z.boolean().optional(),
      deny: z.array(z.string()).optional(),
      entries: z
        .record(
          z.string(),
          z
            .object({
              enabled: z.boolean().optional(),
              config: z.object({ takeOverChannel: z.boolean().optional() }).optional(),
            })
            .catch({}),
        )
        .optional(),
    })
    .optional(),
});

export const readPluginConfig = (config: unknown): PluginConfig => {
  const plugins = configShape.safeParse(config).data?.plugins;
  const entry = plugins?.entries?.[PLUGIN_ID];
  return {
    isEnabled: plugins?.enabled !== false && entry?.enabled !== false && !(plugins?.deny ?? []).includes(PLUGIN_ID),
    takesOver: entry?.config?.takeOverChannel === true,
    channel: findChannel(config),
  };
};
