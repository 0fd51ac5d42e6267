import { chmod } from 'node:fs/promises';
import { join } from 'node:path';

import { type AgentOptions, createOpenclawEmbeddedAgent, createSealane, ensureAdminKey, type Sealane } from 'sealane';

import type { Takeover } from './channel/index.ts';
import { createGatewayLog } from './gateway-log.ts';
import { DATABASE_NAME, dataFolder, KEY_NAME, ROUTE_PREFIX } from './places.ts';
import type { PluginApi, ServiceContext } from './plugin-api.ts';
import { hasAgent, type PluginSettings } from './settings.ts';

const MINUTE = 60_000;

/** Whoever replaces the plugin gives it five seconds to stop. OpenClaw has waited for most runs before. */
const DRAIN_MS = 1500;

/** The service on the data folder of this OpenClaw, with its agents. */
export const startSealane = async (
  api: PluginApi,
  context: ServiceContext,
  settings: PluginSettings,
  takeover: Takeover | undefined,
): Promise<Sealane> => {
  const folder = dataFolder(context.stateDir);
  const adminKey = await ensureAdminKey(folder, KEY_NAME);
  // It may have been there before, for anybody to read.
  await chmod(folder, 0o700);
  const taskTimeoutMs = settings.tasks.timeoutMinutes * MINUTE;
  // OpenClaw's own, so it is there when we are loaded, and only then.
  const { runDetachedWebhookWork } = await import('openclaw/plugin-sdk/webhook-request-guards');
  const served = [...new Set([...settings.agents, ...(takeover?.agentOf.values() ?? [])])];
  const agents = served.map((agentId, index) => {
    const connector = createOpenclawEmbeddedAgent({
      runtime: api.runtime,
      agentId,
      isKnown: (config) => hasAgent(config, agentId),
      timeoutMs: taskTimeoutMs + MINUTE,
      detached: runDetachedWebhookWork,
    });
    const agent: AgentOptions = {
      connector,
      default: index === 0,
      public: settings.publicCard || (takeover?.isPublic(agentId) ?? false),
      concurrency: settings.concurrency,
      taskTimeoutMs,
      description: `The agent ${agentId} of OpenClaw.`,
    };
    return [agentId, agent] as const;
  });
  return await createSealane({
    store: `sqlite:${join(folder, DATABASE_NAME)}`,
    agents: Object.fromEntries(agents),
    adminKey,
    givenKeys: takeover?.givenKeys ?? [],
    ratePerMinute: settings.ratePerMinute,
    allowPrivateWebhooks: settings.allowPrivateWebhooks,
    tracing: false,
    settings: {
      ttlMs: settings.tasks.ttlDays * 24 * 60 * MINUTE,
      waitMs: takeover?.waitMs ?? settings.tasks.waitSeconds * 1000,
      drainMs: DRAIN_MS,
    },
    http: {
      prefix: ROUTE_PREFIX,
      publicUrl: settings.publicUrl ?? takeover?.publicUrl,
      ...(!settings.isLoopback && { allowedHosts: 'any' as const }),
    },
    log: createGatewayLog(context.logger),
  });
};
