import type { Logger } from 'pino';

import type { AgentConnector } from '#agents';
import { createCommandAgent } from '#agents/command/command-agent';
import { commandOptions } from '#agents/command/command-options';
import { createEchoAgent } from '#agents/echo/echo-agent';
import { cliOptions } from '#agents/openclaw/cli/cli-options';
import { createOpenclawCliAgent } from '#agents/openclaw/cli/openclaw-cli-agent';
import { gatewayOptions } from '#agents/openclaw/gateway/gateway-options';
import { createOpenclawGatewayAgent } from '#agents/openclaw/gateway/openclaw-gateway-agent';
import { type AgentConfig, type Config, storeTarget } from '#config';

import { createSealane, type GrpcListenOptions } from './sealane.ts';
import type { AgentOptions } from './sealane-options.ts';

/** The service as the command line runs it. */
export interface Service {
  readonly url: string;
  /** `host:port` of gRPC, when a port was asked for. */
  readonly grpcAddress: string | undefined;
  /** Takes in changed agents and keys; runs go on. */
  reload(config: Config): Promise<void>;
  close(): Promise<void>;
}

/** From a configuration to a service that listens. */
export const startService = async (
  config: Config,
  { log, onFatal }: { readonly log: Logger; readonly onFatal: (error: Error) => void },
): Promise<Service> => {
  let current = config;
  const connectors = createConnectorCache();
  const agentsOf = ({ agents, tasks }: Config): Record<string, AgentOptions> => {
    connectors.keepOnly(Object.keys(agents));
    return Object.fromEntries(
      Object.entries(agents).map(([name, agent]) => [name, agentOptions(agent, tasks, connectors.get(name, agent))]),
    );
  };

  const { tasks, limits } = config;
  const store = storeTarget(config);
  const sealane = await createSealane({
    store: store.kind === 'memory' ? 'memory' : store.kind === 'sqlite' ? `sqlite:${store.file}` : store.url,
    agents: agentsOf(config),
    log,
    onFatal,
    ratePerMinute: limits.ratePerMinute,
    unreadBytes: limits.unreadBytes,
    allowPrivateWebhooks: config.allowPrivateWebhooks,
    ...(config.adminKey !== undefined && { adminKey: config.adminKey }),
    keyOverrides: (name) => keyOverride(current, name),
    settings: {
      slots: limits.slots,
      laneWaiting: limits.laneWaiting,
      ownerWaiting: limits.ownerWaiting,
      ownerRunning: limits.ownerRunning,
      eventBytes: limits.eventBytes,
      artifactBytes: limits.artifactBytes,
      taskBytes: limits.taskBytes,
      waitMs: tasks.waitSeconds * 1000,
      cancelGraceMs: tasks.cancelGraceSeconds * 1000,
      queueTimeoutMs: tasks.queueTimeoutMinutes * 60_000,
      inputTimeoutMs: tasks.inputTimeoutMinutes * 60_000,
      ttlMs: tasks.ttlDays * 24 * 3600 * 1000,
    },
    http: {
      publicUrl: config.publicUrl,
      host: config.host,
      allowedHosts: config.allowedHosts,
      allowedOrigins: config.allowedOrigins,
      trustedProxies: config.trustedProxies,
      bodyLimitBytes: limits.bodyBytes,
    },
  });
  let grpcAddress: string | undefined;
  try {
    await sealane.app.listen({ host: config.host, port: config.port });
    if (config.grpcPort !== undefined) grpcAddress = await sealane.listenGrpc(grpcOptions(config, config.grpcPort));
  } catch (error) {
    await sealane.close();
    throw error;
  }
  const address = sealane.app.server.address();
  const port = typeof address === 'object' && address ? address.port : config.port;
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  return {
    url: `http://${host}:${port}`,
    grpcAddress,
    reload: async (changed) => {
      current = changed;
      sealane.replaceAgents(agentsOf(changed));
      sealane.keys.forget();
    },
    close: () => sealane.close(),
  };
};

const grpcOptions = ({ publicGrpcAddress }: Config, port: number): GrpcListenOptions => ({
  port,
  ...(publicGrpcAddress !== undefined && { publicAddress: publicGrpcAddress }),
});

const keyOverride = ({ keys }: Config, name: string) => {
  const key = keys[name];
  return (
    key && {
      ...(key.agents && { agents: key.agents }),
      ...(key.permission && { permission: key.permission }),
      ...(key.rate !== undefined && { ratePerMinute: key.rate }),
    }
  );
};

/** An agent whose settings did not change keeps its connector, and with it its connections and processes. */
const createConnectorCache = () => {
  const known = new Map<string, { readonly settings: string; readonly connector: AgentConnector }>();
  return {
    /** The others are closed when their runs are over, and must not come back. */
    keepOnly: (names: readonly string[]): void => {
      for (const name of known.keys()) if (!names.includes(name)) known.delete(name);
    },
    get: (name: string, agent: AgentConfig): AgentConnector => {
      const settings = JSON.stringify(agent);
      const cached = known.get(name);
      if (cached?.settings === settings) return cached.connector;
      const connector = connectorOf(agent);
      known.set(name, { settings, connector });
      return connector;
    },
  };
};

const connectorOf = (agent: AgentConfig): AgentConnector => {
  switch (agent.connector) {
    case 'echo':
      return createEchoAgent();
    case 'command':
      // What every agent can say about itself is none of the program's.
      return createCommandAgent(commandOptions.strip().parse(agent));
    case 'openclaw':
      return agent.via === 'cli'
        ? createOpenclawCliAgent(cliOptions.strip().parse(agent))
        : createOpenclawGatewayAgent(gatewayOptions.strip().parse(agent));
  }
};

const agentOptions = (agent: AgentConfig, tasks: Config['tasks'], connector: AgentConnector): AgentOptions => ({
  connector,
  default: agent.default,
  public: agent.public,
  concurrency: agent.concurrency,
  taskTimeoutMs: (agent.timeoutMinutes ?? tasks.timeoutMinutes) * 60_000,
  recovery: agent.recovery,
  reply: agent.reply,
  skills: agent.skills.map(({ id, name, description, tags, examples }) => ({
    id,
    name: name ?? id,
    description,
    tags,
    ...(examples && { examples }),
  })),
  extensions: agent.extensions.map(({ uri, description, required, params }) => ({
    uri,
    ...(description !== undefined && { description }),
    ...(required !== undefined && { required }),
    ...(params && { params }),
  })),
  ...(agent.inputModes && { inputModes: agent.inputModes }),
  ...(agent.outputModes && { outputModes: agent.outputModes }),
  ...(agent.title !== undefined && { title: agent.title }),
  ...(agent.description !== undefined && { description: agent.description }),
});
