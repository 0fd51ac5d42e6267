import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify';

import { requireAdmin, requireKey } from './access.ts';
import { addAdminRoutes } from './admin/admin-routes.ts';
import { addBodyReaders } from './body-reader.ts';
import { createCardHandlers } from './card-routes.ts';
import { addCors } from './cors.ts';
import { asAdminError, asRpcError, createErrorReplier, refuseConnection } from './error-replies.ts';
import { createHealthHandler, createMetricsHandler, createReadyHandler } from './health-routes.ts';
import { HTTP_DEFAULTS, type HttpDeps, type HttpOptions } from './http-deps.ts';
import { createJsonSender, type JsonSender } from './json-reply.ts';
import { closing, createLiveCalls } from './live-calls.ts';
import { createRouteAdder } from './method-routes.ts';
import { createOriginGuard } from './origin-guard.ts';
import { createRequestIds } from './request-ids.ts';
import { createRpcHandler, noSuchAddress } from './rpc-routes.ts';
import { trackUnusedConnections } from './unused-connections.ts';

/** A request must have arrived by then; answers may take as long as they like. */
const REQUEST_TIMEOUT_MS = 60_000;
const CLOSE_GRACE_MS = 5000;

/** We check and write JSON ourselves; without this the framework would load two compilers that nobody uses. */
const NO_SCHEMAS = {
  compilersFactory: { buildValidator: () => () => () => true, buildSerializer: () => () => JSON.stringify },
} as unknown as NonNullable<FastifyServerOptions['schemaController']>;

/**
 * The HTTP front: JSON-RPC, event streams, cards, health and the operator's routes. Listen with `app.listen`, or mount
 * it with `nodeHandler(app)`. `app.close()` ends streams and waiting calls, never tasks.
 */
export const createHttpApp = (deps: HttpDeps): FastifyInstance => {
  const options: HttpOptions = { ...HTTP_DEFAULTS, ...deps.options };
  const live = createLiveCalls();
  const send = createJsonSender(deps.metrics, () => live.isClosing);
  const refuse = createErrorReplier(send, deps.log, asRpcError);
  const app = Fastify({
    logger: false,
    bodyLimit: options.bodyLimitBytes,
    requestTimeout: REQUEST_TIMEOUT_MS,
    return503OnClosing: false,
    genReqId: createRequestIds(),
    routerOptions: { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true, maxParamLength: 512 },
    clientErrorHandler: refuseConnection,
    frameworkErrors: refuse,
    schemaController: NO_SCHEMAS,
  });
  app.decorateRequest('holder', null);
  app.decorateRequest('beganAt', 0);
  app.setErrorHandler(refuse);
  addBodyReaders(app, options.bodyLimitBytes);

  const guard = createOriginGuard(options);
  app.addHook('onRequest', (request, reply, done) => {
    request.beganAt = performance.now();
    try {
      const origin = guard.check(request.raw.headers);
      if (live.isClosing) throw closing();
      if (origin !== undefined && addCors(request.raw, reply.raw, origin) === 'answered') {
        reply.hijack();
        return;
      }
      done();
    } catch (error) {
      done(error as Error);
    }
  });
  const unused = trackUnusedConnections(app.server);
  app.addHook('preClose', async () => {
    live.closeAll();
    unused.close();
    // Whoever does not take its last answer in time must not keep the others from leaving.
    setTimeout(() => app.server.closeAllConnections(), CLOSE_GRACE_MS).unref();
  });

  app.register(
    async (scope) => {
      addOpenRoutes(scope, deps, options, send);
      scope.register(async (keyed) => addKeyedRoutes(keyed, deps, options, send, live));
      scope.register(
        async (admin) => {
          admin.addHook('onRequest', requireKey(deps));
          admin.addHook('onRequest', requireAdmin);
          admin.setErrorHandler(createErrorReplier(send, deps.log, asAdminError));
          admin.setNotFoundHandler((request) => {
            throw noSuchAddress(request);
          });
          addAdminRoutes(admin, deps, options, send);
        },
        { prefix: '/admin' },
      );
    },
    { prefix: options.prefix },
  );
  return app;
};

const addOpenRoutes = (app: FastifyInstance, deps: HttpDeps, options: HttpOptions, send: JsonSender): void => {
  const add = createRouteAdder(app, send, asRpcError);
  const cards = createCardHandlers({ ...deps, options, send });
  add('/.well-known/agent-card.json', { GET: cards.root });
  add('/agents/:name/.well-known/agent-card.json', { GET: cards.agent });
  add('/healthz', { GET: createHealthHandler(send) });
  add('/readyz', { GET: createReadyHandler(send, deps) });
  add('/metrics', { GET: createMetricsHandler(send, deps) });
};

const addKeyedRoutes = (
  app: FastifyInstance,
  deps: HttpDeps,
  options: HttpOptions,
  send: JsonSender,
  live: ReturnType<typeof createLiveCalls>,
): void => {
  app.addHook('onRequest', requireKey(deps));
  const add = createRouteAdder(app, send, asRpcError);
  const POST = createRpcHandler({ ...deps, send, live, options });
  add('/', { POST });
  add('/a2a', { POST });
  add('/agents/:name', { POST });
  // Strangers learn nothing about which addresses exist: without a key they are refused before this.
  app.setNotFoundHandler((request) => {
    throw noSuchAddress(request);
  });
};
