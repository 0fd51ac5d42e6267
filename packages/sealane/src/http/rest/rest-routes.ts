import type { FastifyInstance, FastifyRequest } from 'fastify';

import { findId } from '#protocol';

import { asRpcError, createErrorReplier, type ErrorWording } from '../error-replies.ts';
import type { HttpDeps, HttpOptions } from '../http-deps.ts';
import { METHODS, refuseMethod } from '../method-routes.ts';
import { noSuchAddress } from '../rpc-routes.ts';
import type { RestAddress } from './rest-address.ts';
import { answerRest, type RestDeps } from './rest-handler.ts';
import { asV03RestError } from './v03-binding.ts';
import { asRestError } from './v1-binding.ts';

export type AddressFinder = (url: string) => RestAddress | undefined;

/** Adds every address that no other route has: one that is REST's is answered, and all else is not there. */
export const addRestRoutes = (
  app: FastifyInstance,
  deps: RestDeps & Pick<HttpDeps, 'log'>,
  find: AddressFinder,
): void => {
  app.setErrorHandler(createErrorReplier(deps.send, deps.log, createWording(find, deps.options)));
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
export const createWording =
  (find: AddressFinder, { prefix }: Pick<HttpOptions, 'prefix'>) =>
  ({ raw: { url = '' } }: FastifyRequest): ErrorWording =>
    find(url)?.binding.errors ?? nearest(url.startsWith(prefix) ? url.slice(prefix.length) : url);

const nearest = (url: string): ErrorWording => {
  const [path = ''] = url.split('?', 1);
  if (path.includes('/v1/')) return asV03RestError;
  return /\/(?:tasks|message:|extendedAgentCard)/.test(path) ? asRestError : asRpcError;
};
