/**
 * HTTP: the Fastify app with JSON-RPC, REST, event streams, cards, health checks and the operator's routes. It
 * authenticates, limits, frames and answers. The protocol knows what a call means, and the engine what it does. Every
 * answer, refusals included, is JSON. Start with `http-app.ts`, then `rpc-routes.ts` and `sse.ts`. `rest/` has the same
 * methods under plain addresses, with a table of routes for each version; `admin/` is for the operator.
 */
export { createHttpApp } from './http-app.ts';
export { HTTP_DEFAULTS } from './http-deps.ts';
export type { HttpDeps, HttpMetrics, HttpOptions } from './http-deps.ts';
export { nodeHandler } from './node-handler.ts';
