import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

import { Server, ServerCredentials, type ServiceDefinition, type UntypedServiceImplementation } from '@grpc/grpc-js';

import { createLiveCalls, errorForCaller } from '#protocol';

import { createCallHandlers, type HandlerDeps } from './call-handlers.ts';
import { createGate } from './gate.ts';
import { GRPC_DEFAULTS, type GrpcDeps, type GrpcOptions } from './grpc-deps.ts';
import { joinAddress } from './public-address.ts';
import type { RpcService } from './rpc-service.ts';
import { createV03Service } from './v03-service.ts';
import { createV1Service } from './v1-service.ts';

export interface GrpcServer {
  /** What clients on this machine connect to: `127.0.0.1:7421`. */
  readonly address: string;
  readonly host: string;
  readonly port: number;
  /** Ends streams and waiting calls, never tasks; whoever does not take its last answer in time is cut off. */
  close(): Promise<void>;
}

/** A peer that vanished without a word is noticed by its silence; one that is alive keeps a stream open for days. */
const KEEPALIVE_MS = 30_000;
const KEEPALIVE_TIMEOUT_MS = 20_000;
const IDLE_CONNECTION_MS = 10 * 60_000;
/** Of one connection: enough for a gateway that follows many tasks over one. */
const MAX_STREAMS = 1000;

/**
 * Listens for gRPC and answers when it does. The socket is ours, so that a port that is taken is the same error as for
 * HTTP, and the address is bound as it was written.
 */
export const openGrpcServer = async (deps: GrpcDeps, given: Partial<GrpcOptions> = {}): Promise<GrpcServer> => {
  const options: GrpcOptions = { ...GRPC_DEFAULTS, ...given };
  const services = [createV1Service(deps.protocol.v1), createV03Service(deps.protocol.v03)];
  const methods = new Map(services.flatMap(({ rpcs }) => rpcs.map(({ path, method }) => [path, method])));
  const live = createLiveCalls();
  const explain: HandlerDeps['explain'] = (thrown) => {
    const reqId = randomUUID();
    return errorForCaller(thrown, reqId, {
      failed: (err) => deps.log.error({ err, reqId }, 'a gRPC call failed'),
      refused: (detail) => deps.log.warn({ detail, reqId }, 'a gRPC call was refused'),
    });
  };
  const gate = createGate(deps, {
    live,
    requestTimeoutMs: options.requestTimeoutMs,
    explain,
    methodOf: (path) => methods.get(path) ?? path,
  });
  const server = new Server({
    interceptors: [gate.interceptor],
    'grpc.max_receive_message_length': options.bodyLimitBytes,
    'grpc.max_concurrent_streams': MAX_STREAMS,
    'grpc.keepalive_time_ms': KEEPALIVE_MS,
    'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
    'grpc.max_connection_idle_ms': IDLE_CONNECTION_MS,
    'grpc.enable_channelz': 0,
  });
  for (const service of services) {
    const { definition, implementation } = handlersOf(service, { ...deps, options, live, gate, explain });
    server.addService(definition, implementation);
  }
  const connections = server.createConnectionInjector(ServerCredentials.createInsecure());
  const listener = createServer({ noDelay: true }, (socket) => connections.injectConnection(socket));
  listener.listen(options.port, options.host);
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;

  const close = async (): Promise<void> => {
    live.closeAll();
    listener.close();
    const forced = setTimeout(() => server.forceShutdown(), options.closeGraceMs);
    await new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
    clearTimeout(forced);
  };
  return { address: joinAddress(options.host, port), host: options.host, port, close };
};

/** Bytes pass through gRPC unread: they are decoded where a mistake in them can be answered with what is wrong. */
const asTheyAre = (bytes: Buffer): Buffer => bytes;

const handlersOf = (
  service: RpcService,
  deps: HandlerDeps,
): { readonly definition: ServiceDefinition; readonly implementation: UntypedServiceImplementation } => {
  const { unary, stream } = createCallHandlers(deps, service);
  return {
    definition: Object.fromEntries(
      service.rpcs.map(({ path, isStream }) => [
        path,
        {
          path,
          requestStream: false,
          responseStream: isStream,
          requestSerialize: asTheyAre,
          requestDeserialize: asTheyAre,
          responseSerialize: asTheyAre,
          responseDeserialize: asTheyAre,
        },
      ]),
    ),
    implementation: Object.fromEntries(service.rpcs.map((rpc) => [rpc.path, rpc.isStream ? stream(rpc) : unary(rpc)])),
  };
};
