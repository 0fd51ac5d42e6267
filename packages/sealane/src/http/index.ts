/**
 * HTTP: the Fastify app with JSON-RPC, REST, event streams, cards, health checks and the operator's routes. It
 * authenticates, limits, frames and answers; what a call means is the protocol's, what it does the engine's. Every
 * answer, refusals included, is JSON. Start with `http-app.ts`, then `rpc-routes.ts` and `sse.ts`; `rest/` is the same
 * methods under plain addresses, each version a table of routes; `admin/` is the operator's side.
 */
export { createHttpApp } from './http-app.ts';
export { HTTP_DEFAULTS } from './http-deps.ts';
export type { HttpDeps, HttpMetrics, HttpOptions } from './http-deps.ts';
export { nodeHandler } from './node-handler.ts';
