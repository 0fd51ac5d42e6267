import Fastify, { type FastifyInstance, type FastifyRequest, type FastifyServerOptions } from 'fastify';

import { closing, createLiveCalls, type LiveCalls } from '#protocol';

import { requireAdmin, requireKey } from './access.ts';
import { addAdminRoutes } from './admin/admin-routes.ts';
import { addBodyReaders } from './body-reader.ts';
import { createCardHandlers, createExtendedCardHandler } from './card-routes.ts';
import { addCors } from './cors.ts';
import { asAdminError, asRpcError, createErrorReplier, refuseConnection } from './error-replies.ts';
import { createHealthHandler, createMetricsHandler, createReadyHandler } from './health-routes.ts';
import { HTTP_DEFAULTS, type HttpDeps, type HttpOptions } from './http-deps.ts';
import { createJsonSender, type JsonSender } from './json-reply.ts';
import { createRouteAdder, METHODS } from './method-routes.ts';
import { createOriginGuard } from './origin-guard.ts';
import { createRequestIds } from './request-ids.ts';
import { createAddressFinder } from './rest/rest-address.ts';
import { addRestRoutes, type AddressFinder, createWording } from './rest/rest-routes.ts';
import { createV03Binding } from './rest/v03-binding.ts';
import { createV1Binding } from './rest/v1-binding.ts';
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
 * The HTTP front: JSON-RPC, REST, event streams, cards, health and the operator's routes. Listen with `app.listen`, or
 * mount it with `nodeHandler(app)`. `app.close()` ends streams and waiting calls, never tasks.
 */
export const createHttpApp = (deps: HttpDeps): FastifyInstance => {
  const options: HttpOptions = { ...HTTP_DEFAULTS, ...deps.options };
  const live = createLiveCalls();
  const send = createJsonSender(deps, options.stallMs, () => live.isClosing);
  const bindings = [createV03Binding(deps.protocol), createV1Binding(deps.protocol)];
  const findAddress = createAddressFinder(bindings, options.prefix);
  const refuse = createErrorReplier(send, deps.log, createWording(bindings, findAddress, options));
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
  app.decorateRequest('pattern', null);
  app.setErrorHandler(refuse);
  addBodyReaders(app, options.bodyLimitBytes);

  const guard = createOriginGuard(options);
  app.addHook('onRequest', (request, reply, done) => {
    request.beganAt = performance.now();
    try {
      const origin = guard.check(request.raw);
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
  // Node answers an Expect that it does not know with an empty 417. A server may as well overlook it (RFC 9110, 10.1.1),
  // and then the caller gets an answer that it can read.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  const unused = trackUnusedConnections(app.server);
  app.addHook('preClose', async () => {
    live.closeAll();
    unused.close();
    // Whoever does not take its last answer in time must not keep the others from leaving.
    setTimeout(() => app.server.closeAllConnections(), CLOSE_GRACE_MS).unref();
  });
  // A program that is told to stop while it starts may listen after it has closed us: nobody would end that any more.
  app.server.on('listening', () => {
    if (live.isClosing) setImmediate(() => app.server.close());
  });

  app.register(
    async (scope) => {
      addOpenRoutes(scope, deps, options, send);
      scope.register(async (keyed) => addKeyedRoutes(keyed, deps, options, send, live, findAddress));
      scope.register(
        async (admin) => {
          admin.addHook('onRequest', requireKey(deps));
          admin.addHook('onRequest', requireAdmin(deps));
          admin.setErrorHandler(createErrorReplier(send, deps.log, () => asAdminError));
          const refuseAddress = createAddressRefuser(options);
          admin.setNotFoundHandler(refuseAddress);
          // Else this would be REST's, which has every address that nobody else has.
          admin.route({ method: [...METHODS], url: '/*', handler: refuseAddress });
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
  // Some clients look for the card below the address that they call, whatever the origin has.
  for (const base of ['', '/a2a', '/agents/:name']) {
    add(`${base}/.well-known/agent-card.json`, { GET: cards.card });
    add(`${base}/.well-known/agent.json`, { GET: cards.oldCard });
  }
  add('/.well-known/jwks.json', { GET: cards.jwks });
  add('/healthz', { GET: createHealthHandler(send, deps) });
  add('/readyz', { GET: createReadyHandler(send, deps) });
  add('/metrics', { GET: createMetricsHandler(send, deps) });
};

const addKeyedRoutes = (
  app: FastifyInstance,
  deps: HttpDeps,
  options: HttpOptions,
  send: JsonSender,
  live: LiveCalls,
  findAddress: AddressFinder,
): void => {
  app.addHook('onRequest', requireKey(deps));
  const add = createRouteAdder(app, send, asRpcError);
  const callDeps = { ...deps, send, live, options };
  const POST = createRpcHandler(callDeps);
  add('/', { POST });
  add('/a2a', { POST });
  // Where the channel of OpenClaw takes calls: its peers need to change no more than the host.
  add('/a2a/v1', { POST });
  add('/agents/:name', { POST });
  for (const base of ['', '/a2a', '/agents/:name']) {
    add(`${base}/agent/authenticatedExtendedCard`, { GET: createExtendedCardHandler(callDeps) });
  }
  app.register(async (rest) => addRestRoutes(rest, callDeps, findAddress));
  // Strangers learn nothing about which addresses exist: without a key they are refused before this.
  app.setNotFoundHandler(createAddressRefuser(options));
};

const createAddressRefuser =
  (options: HttpOptions) =>
  async (request: FastifyRequest): Promise<never> => {
    throw noSuchAddress(request, options);
  };
