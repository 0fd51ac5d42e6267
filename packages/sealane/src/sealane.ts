import type { IncomingMessage, ServerResponse } from 'node:http';

import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';

import { type AgentConnector, closeConnector } from '#agents';
import { SealaneError } from '#domain';
import { createAgentRegistry, createEngine, type Engine, type TaskService } from '#engine';
import type { GrpcOptions, GrpcServer } from '#grpc';
import { type GrpcPlace, httpOriginBeside, publicGrpcAddress } from '#grpc/public-address';
import { createHttpApp, nodeHandler } from '#http';
import { createKeys, createRateLimiter, createUnreadAnswers, type Keys } from '#identity';
import {
  combineObservers,
  createLogObserver,
  createMetrics,
  createPushLogObserver,
  startTracing,
} from '#observability';
import { createProtocol } from '#protocol';
import { createTargetGuard, createWebhookFollower } from '#push';
import { type LaneStore, openStore, requireStorage, type Storage } from '#store';

import { encodePush } from './encode-push.ts';
import { newId } from './new-id.ts';
import { entriesOf, httpOptionsOf, type SealaneOptions } from './sealane-options.ts';
import { VERSION } from './version.ts';

/** Where gRPC listens; the host and the size limit of HTTP by default, on a free port. */
export interface GrpcListenOptions extends Partial<GrpcOptions> {
  /** `host:port` under which clients reach it, for the cards, where that cannot be guessed. */
  readonly publicAddress?: string;
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
  /** Speaks gRPC as well, on a port of its own, until `close`; answers its address, like `127.0.0.1:7421`. */
  listenGrpc(options?: GrpcListenOptions): Promise<string>;
  /** Exchanges the agents; runs that go on keep theirs. Throws `bad-config`, and changes nothing, if one cannot be run. */
  replaceAgents(agents: SealaneOptions['agents']): void;
  /** Drains and closes everything that it opened; a storage of your own stays open. */
  close(): Promise<void>;
}

const STORE_FAILED = 'The store has failed for good: the service must be started again. The log says why.';
const STORE_AWAY = 'The store is away or full. The log says more, and so does GET /admin/health to an admin key.';
const portOf = (address: ReturnType<FastifyInstance['server']['address']>): number | undefined =>
  typeof address === 'object' ? address?.port : undefined;

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
  requireStorage(storage);
  for (const notice of storage.notices ?? []) log.warn(notice);
  const now = Date.now;
  const startedAt = now();
  const registry = createAgentRegistry(entriesOf(options.agents));
  await using undo = new AsyncDisposableStack();
  const metrics = createMetrics(storage, now);
  undo.defer(() => metrics.close());
  const tracing = await startTracing(options.tracing === false ? {} : process.env, VERSION);
  const observer = combineObservers([metrics.observer, tracing.observer, createLogObserver(log)]);
  const guard = createTargetGuard({ allowPrivate: options.allowPrivateWebhooks ?? false });
  const engine: Engine = createEngine({
    checkWebhook: guard.check,
    storage,
    registry,
    observer,
    followers: [
      createWebhookFollower({
        storage,
        guard,
        encode: encodePush,
        userAgent: `Sealane/${VERSION}`,
        observers: [metrics.push, createPushLogObserver(log)],
        ...(options.push && { settings: options.push }),
      }),
    ],
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
    ...(options.givenKeys && { given: options.givenKeys }),
    ...(options.keyOverrides && { overrides: options.keyOverrides }),
  });
  if (options.ratePerMinute !== undefined && !(options.ratePerMinute > 0)) {
    throw new SealaneError('bad-config', `ratePerMinute must be above 0, not ${String(options.ratePerMinute)}.`);
  }
  const httpOptions = httpOptionsOf(options.http);
  const rateLimiter = createRateLimiter({
    now: () => performance.now(),
    ...(options.ratePerMinute !== undefined && { defaultPerMinute: options.ratePerMinute }),
  });
  const unread = createUnreadAnswers(options.unreadBytes);
  let grpcPlace: GrpcPlace | undefined;
  const protocol = createProtocol({
    service: engine.tasks,
    registry,
    version: VERSION,
    now,
    cards: {
      keys: storage.cardKeys,
      grpcAddress: (baseUrl) => grpcPlace && publicGrpcAddress(grpcPlace, baseUrl),
      grpcVersions: ['1.0', '0.3'],
      ...options.cards,
    },
    ...(options.capabilities && { capabilities: options.capabilities }),
  });
  let failure: Error | undefined;
  const app = createHttpApp({
    protocol,
    service: engine.tasks,
    registry,
    storage: { ...storage, lanes: withNews(storage.lanes, () => engine.lanesChanged()) },
    keys,
    rateLimiter,
    unread,
    log,
    metrics: metrics.http,
    hasFailed: () => failure !== undefined,
    ready: async () => {
      if (failure) return { status: STORE_FAILED, detail: failure.message };
      if (engine.isStopping()) return { status: 'The service is stopping.' };
      const detail = await storage.upkeep.check();
      return detail === undefined ? { status: 'ok' } : { status: STORE_AWAY, detail };
    },
    running: (agent) => engine.runningOf(agent),
    now,
    version: VERSION,
    instance: engine.instance,
    startedAt,
    options: httpOptions,
  });
  // What does not start is not left half running on a storage that goes on without it.
  undo.defer(() => engine.stop());
  await engine.start();
  undo.move();
  const watching = storage.onFatal?.((error) => {
    failure = error;
    log.fatal({ err: error }, error.message);
    engine.abandon();
    try {
      options.onFatal?.(error);
    } catch (thrown) {
      log.error({ err: thrown }, 'the listener `onFatal` threw an error');
    }
  });

  const { host, bodyLimitBytes, publicUrl, prefix } = httpOptions;
  let grpc: Promise<GrpcServer> | undefined;
  let closed: Promise<void> | undefined;
  const listenGrpc: Sealane['listenGrpc'] = async ({ publicAddress, ...given } = {}) => {
    if (closed) throw new SealaneError('unavailable', 'The service is closed: gRPC cannot listen any more.');
    if (grpc) throw new Error(`gRPC listens already, at ${(await grpc).address}.`);
    const baseUrl = (authority: string): string =>
      publicUrl?.replace(/\/+$/, '') ??
      `${httpOriginBeside({ host, port: portOf(app.server.address()) }, authority)}${prefix}`;
    const deps = { protocol, registry, keys, rateLimiter, unread, log, metrics: metrics.http, baseUrl };
    // Loaded when it is asked for: most services have no gRPC port, and its libraries are large.
    grpc = import('#grpc').then(({ openGrpcServer }) => openGrpcServer(deps, { host, bodyLimitBytes, ...given }));
    try {
      const server = await grpc;
      grpcPlace = { host: server.host, port: server.port, publicAddress, publicUrl };
      return server.address;
    } catch (error) {
      grpc = undefined;
      throw error;
    }
  };

  /** One that cannot be closed, or never is, keeps nothing else from closing. */
  const closeAgent = (connector: AgentConnector): Promise<void> =>
    closeConnector(connector).catch((error: unknown) =>
      log.error({ err: error, connector: connector.kind }, 'an agent could not be closed'),
    );
  const close = (): Promise<void> =>
    (closed ??= (async () => {
      await using cleanUp = new AsyncDisposableStack();
      // Whatever fails, the rest is closed; the last that is written here is the first that is done.
      cleanUp.defer(async () => {
        await tracing.flush().catch((error: unknown) => log.warn({ err: error }, 'the last spans were not exported'));
      });
      cleanUp.defer(async () => {
        metrics.close();
        watching?.[Symbol.dispose]();
        if (typeof options.store === 'string') await storage.close();
      });
      cleanUp.defer(async () => {
        const connectors = new Set(registry.list().map(({ connector }) => connector));
        await Promise.all([...connectors].map(closeAgent));
      });
      cleanUp.defer(() => engine.dismiss());
      cleanUp.defer(async () => {
        await Promise.all([app.close(), grpc?.then((server) => server.close())]);
      });
      // Runs may end while nobody new is let in; streams are told last, so that they see those ends.
      await engine.stop();
    })());

  return {
    tasks: engine.tasks,
    keys,
    storage,
    handler: nodeHandler(app),
    app,
    listenGrpc,
    close,
    [Symbol.asyncDispose]: close,
    replaceAgents: (agents) => {
      const before = registry.list();
      registry.replaceAll(entriesOf(agents));
      const isServed = (connector: AgentConnector): boolean =>
        registry.list().some((entry) => entry.connector === connector);
      for (const connector of new Set(before.map((entry) => entry.connector))) {
        if (isServed(connector)) continue;
        const entries = before.filter((entry) => entry.connector === connector);
        // It may be back by the time its runs are over.
        void Promise.all(entries.map((entry) => engine.drained(entry))).then(() =>
          isServed(connector) ? undefined : closeAgent(connector),
        );
      }
    },
  };
};
