import type { Draw } from './draw.ts';
import type { FuzzRequest } from './fuzz-request.ts';
import type { FuzzWorld } from './fuzz-world.ts';
import { GRPC_SERVICES, grpcRequest } from './grpc-requests.ts';
import { REST_ROUTES, restRequest } from './rest-requests.ts';
import { RPC_METHODS, rpcRequest } from './rpc-requests.ts';

/** One request of any binding. */
export const requestOf = (draw: Draw, { key }: FuzzWorld): FuzzRequest =>
  draw.random.weigh<(draw: Draw, key: string) => FuzzRequest>([
    [6, rpcRequest],
    [3, restRequest],
    [2, grpcRequest],
  ])(draw, key);

/** What of everything that is spoken is asked for, by label; the operator's addresses, which are refused, are left out. */
export const LABELS: readonly string[] = [
  ...Object.entries(RPC_METHODS).flatMap(([dialect, methods]) => methods.map(({ name }) => `${dialect} ${name}`)),
  ...Object.entries(REST_ROUTES)
    .filter(([version]) => version !== 'admin')
    .flatMap(([version, routes]) => routes.map(({ label }) => `${version} REST ${label}`)),
  ...GRPC_SERVICES.flatMap(([, { version, methods }]) => methods.map(({ name }) => `${version} gRPC ${name}`)),
];
