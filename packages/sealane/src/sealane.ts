import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { FastifyInstance } from 'fastify';
import { type Logger, pino } from 'pino';

import type { AgentConnector } from '#agents';
import {
  type AgentEntry,
  type AgentExtension,
  type AgentSkill,
  createAgentRegistry,
  createEngine,
  type Engine,
  type EngineSettings,
  type TaskService,
} from '#engine';
import { createHttpApp, type HttpOptions, nodeHandler } from '#http';
import { createKeys, createRateLimiter, type KeyOverride, type Keys } from '#identity';
import { combineObservers, createLogObserver, createMetrics, startTracing } from '#observability';
import { type Capabilities, createProtocol } from '#protocol';
import { type LaneStore, openStore, requireTaskStore, type Storage } from '#store';

import { newId } from './new-id.ts';
import { VERSION } from './version.ts';

/** An agent, or just its connector with everything else as usual. */
export interface AgentOptions {
  readonly connector: AgentConnector;
  readonly default?: boolean;
  readonly public?: boolean;
  readonly concurrency?: number;
  readonly taskTimeoutMs?: number;
  readonly recovery?: 'fail' | 'retry';
  readonly reply?: 'task' | 'message';
  readonly title?: string;
  readonly description?: string;
  readonly skills?: readonly AgentSkill[];
  /** Media types that it takes and gives; everything by default. */
  readonly inputModes?: readonly string[];
  readonly outputModes?: readonly string[];
  readonly extensions?: readonly AgentExtension[];
}

export interface SealaneOptions {
  /** `memory`, `sqlite:FILE`, `postgres://…`, or a storage of your own. */
  readonly store: string | Storage;
  /** By name. The only one, or the one marked `default`, takes messages that name no agent. */
  readonly agents: Readonly<Record<string, AgentConnector | AgentOptions>>;
  /** The operator's key. Without it only keys from the store work. */
  readonly adminKey?: string;
  readonly keyOverrides?: (name: string) => KeyOverride | undefined;
  readonly settings?: Partial<EngineSettings>;
  readonly ratePerMinute?: number;
  /** What of A2A is offered; all of it by default. */
  readonly capabilities?: Capabilities;
  readonly http?: Partial<HttpOptions>;
  readonly log?: Logger;
}

/** A running service inside this process. */
export interface Sealane extends AsyncDisposable {
  /** The operations of A2A without any wire: for callers in the same process. */
  readonly tasks: TaskService;
  readonly keys: Keys;
  readonly storage: Storage;
  /** A listener for `node:http`, Express or anything that passes on Node's requests. */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void;
  /** The Fastify app behind `handler`, to listen with or to mount. */
  readonly app: FastifyInstance;
  /** Exchanges the agents; runs that go on keep theirs. */
  replaceAgents(agents: SealaneOptions['agents']): void;
  /** Drains and closes everything that it opened; a storage of your own stays open. */
  close(): Promise<void>;
}

const ANYTHING = ['text/plain', 'application/json', '*/*'];
const DEFAULT_TIMEOUT_MS = 30 * 60_000;

const entryOf = (name: string, agent: AgentConnector | AgentOptions): AgentEntry => {
  const options: AgentOptions = 'connector' in agent ? agent : { connector: agent };
  return {
    name,
    connector: options.connector,
    isDefault: options.default ?? false,
    isPublic: options.public ?? false,
    concurrency: options.concurrency ?? 16,
    taskTimeoutMs: options.taskTimeoutMs ?? DEFAULT_TIMEOUT_MS,
    recovery: options.recovery ?? 'fail',
    maxAttempts: 3,
    reply: options.reply ?? 'task',
    title: options.title ?? name,
    description: options.description ?? `The agent ${name}, served by Sealane.`,
    skills: options.skills ?? [],
    inputModes: options.inputModes ?? ANYTHING,
    outputModes: options.outputModes ?? ANYTHING,
    extensions: options.extensions ?? [],
  };
};

const entriesOf = (agents: SealaneOptions['agents']): AgentEntry[] =>
  Object.entries(agents).map(([name, agent]) => entryOf(name, agent));

/** An agent that is paused here stops here at once, not at the next look into the store. */
const withNews = (lanes: LaneStore, tell: () => Promise<void>): LaneStore => ({
  ...lanes,
  pauseAgent: async (...pause) => {
    await lanes.pauseAgent(...pause);
    await tell();
  },
});

/** Builds a service out of a store and agents, and starts it: the one place that knows everybody. */
export const createSealane = async (options: SealaneOptions): Promise<Sealane> => {
  if (typeof options.store !== 'string') return await startOn(options.store, options);
  const storage = await openStore(options.store);
  try {
    return await startOn(storage, options);
  } catch (error) {
    await storage.close();
    throw error;
  }
};

const startOn = async (storage: Storage, options: SealaneOptions): Promise<Sealane> => {
  const log = options.log ?? pino({ level: 'silent' });
  requireTaskStore(storage.tasks);
  const now = Date.now;
  const startedAt = now();
  const registry = createAgentRegistry(entriesOf(options.agents));
  const metrics = createMetrics(storage, now);
  const tracing = await startTracing(process.env, VERSION);
  const observer = combineObservers([metrics.observer, tracing.observer, createLogObserver(log)]);
  const engine: Engine = createEngine({
    storage,
    registry,
    observer,
    now,
    newId,
    ...(options.settings && { settings: options.settings }),
  });
  const keys = createKeys({
    keys: storage.keys,
    audit: storage.audit,
    now,
    onAuditError: (error) => log.error({ err: error }, 'a refusal could not be recorded'),
    ...(options.adminKey !== undefined && { adminKey: options.adminKey }),
    ...(options.keyOverrides && { overrides: options.keyOverrides }),
  });
  const protocol = createProtocol({
    service: engine.tasks,
    registry,
    version: VERSION,
    ...(options.capabilities && { capabilities: options.capabilities }),
  });
  const app = createHttpApp({
    protocol,
    service: engine.tasks,
    registry,
    storage: { ...storage, lanes: withNews(storage.lanes, () => engine.lanesChanged()) },
    keys,
    rateLimiter: createRateLimiter({
      now: () => performance.now(),
      ...(options.ratePerMinute !== undefined && { defaultPerMinute: options.ratePerMinute }),
    }),
    log,
    metrics: metrics.http,
    ready: async () => (engine.isStopping() ? 'The service is stopping.' : ((await storage.upkeep.check()) ?? 'ok')),
    running: (agent) => engine.runningOf(agent),
    now,
    version: VERSION,
    instance: engine.instance,
    startedAt,
    options: { scratchDir: join(tmpdir()), ...options.http },
  });
  await engine.start();

  let closed: Promise<void> | undefined;
  const close = (): Promise<void> =>
    (closed ??= (async () => {
      // Runs may end while nobody new is let in; streams are told last, so that they see those ends.
      await engine.stop();
      await app.close();
      await Promise.all(registry.list().map(({ connector }) => connector.close()));
      await tracing.shutdown().catch((error: unknown) => log.warn({ err: error }, 'the last spans were not exported'));
      if (typeof options.store === 'string') await storage.close();
    })());

  return {
    tasks: engine.tasks,
    keys,
    storage,
    handler: nodeHandler(app),
    app,
    close,
    [Symbol.asyncDispose]: close,
    replaceAgents: (agents) => {
      const before = registry.list();
      registry.replaceAll(entriesOf(agents));
      const kept = new Set(registry.list().map(({ connector }) => connector));
      for (const entry of before) {
        if (!kept.has(entry.connector)) void engine.drained(entry).then(() => entry.connector.close());
      }
    },
  };
};
