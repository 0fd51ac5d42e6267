import type { FastifyInstance, FastifyRequest } from 'fastify';

import { findId } from '#protocol';

import { asRpcError, type ErrorWording } from '../error-replies.ts';
import type { HttpOptions } from '../http-deps.ts';
import { METHODS, refuseMethod } from '../method-routes.ts';
import { noSuchAddress } from '../rpc-routes.ts';
import type { RestAddress } from './rest-address.ts';
import type { RestBinding } from './rest-binding.ts';
import { answerRest, type RestDeps } from './rest-handler.ts';

export type AddressFinder = (url: string) => RestAddress | undefined;

/** Adds every address that no other route has: one that is REST's is answered, and all else is not there. */
export const addRestRoutes = (app: FastifyInstance, deps: RestDeps, find: AddressFinder): void => {
  app.route({
    method: [...METHODS, 'HEAD'],
    exposeHeadRoute: false,
    url: '/*',
    handler: async (request, reply) => {
      const address = find(request.raw.url ?? '');
      request.pattern = address?.pattern ?? 'none';
      if (address === undefined) throw noSuchAddress(request, deps.options);
      findId(address.tenant, 'tenant');
      const { binding, routes } = address;
      const route = routes.find(({ verb }) => verb === request.method);
      if (route !== undefined) return answerRest(deps, address, route, request, reply);
      const allowed = routes.map(({ verb }) => verb);
      refuseMethod(deps.send, binding.errors, request, reply, allowed);
      return undefined;
    },
  });
};

/** Errors in the words of the binding that an address belongs to, or comes near to. Where we are mounted says nothing. */
export const createWording = (
  bindings: readonly RestBinding[],
  find: AddressFinder,
  { prefix }: Pick<HttpOptions, 'prefix'>,
): ((request: FastifyRequest) => ErrorWording) => {
  const signs = bindings.map(({ prefix: own, routes, errors }) => ({
    errors,
    starts: own === '' ? [...new Set(routes.map(({ path }) => startOf(path)))] : [`${own}/`],
  }));
  const nearest = (url: string): ErrorWording => {
    const [path = ''] = url.split('?', 1);
    return signs.find(({ starts }) => starts.some((start) => path.includes(start)))?.errors ?? asRpcError;
  };
  return ({ raw: { url = '' } }) =>
    find(url)?.binding.errors ?? nearest(url.startsWith(prefix) ? url.slice(prefix.length) : url);
};

/** `/tasks` of `/tasks/{id}:cancel`, and `/message:` of `/message:send`. */
const startOf = (path: string): string => /^\/[^/:]*:?/.exec(path)?.[0] ?? path;
