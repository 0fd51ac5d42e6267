/**
 * gRPC: the services of A2A, over the same methods of the protocol that JSON-RPC and REST call, so that all bindings
 * behave alike. This module authenticates, limits, turns protobuf into params and JSON into protobuf, and writes
 * streams with back-pressure. A service loads it only if a gRPC port is configured. Start with `grpc-server.ts`, then
 * `gate.ts` and `call-handlers.ts`; `v1-service.ts` and `v03-service.ts` list the rpcs.
 */
export type { GrpcDeps, GrpcMetrics, GrpcOptions } from './grpc-deps.ts';
export { GRPC_DEFAULTS } from './grpc-deps.ts';
export type { GrpcServer } from './grpc-server.ts';
export { openGrpcServer } from './grpc-server.ts';
