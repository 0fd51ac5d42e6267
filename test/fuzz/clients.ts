import type { Outcome } from './answer.ts';
import type { FuzzRequest } from './fuzz-request.ts';
import type { FuzzWorld } from './fuzz-world.ts';
import { createGrpcClient } from './grpc-client.ts';
import { createHttpClient } from './http-client.ts';

/** A connection of each kind. */
export interface Clients extends Disposable {
  ask(request: FuzzRequest): Promise<Outcome>;
}

export const createClients = ({ service, grpcAddress }: FuzzWorld): Clients => {
  const http = createHttpClient(service.url);
  const grpc = createGrpcClient(grpcAddress);
  return {
    ask: (request) => (request.binding === 'grpc' ? grpc.ask(request) : http.ask(request)),
    [Symbol.dispose]: () => {
      http[Symbol.dispose]();
      grpc[Symbol.dispose]();
    },
  };
};
