import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { SealaneError } from '#domain';

import type { ErrorEncoder } from './error-replies.ts';
import type { JsonSender } from './json-reply.ts';

export type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** Adds routes by address: a method that an address does not have is answered 405, with those that it has. */
export const createRouteAdder =
  (app: FastifyInstance, send: JsonSender, encode: ErrorEncoder) =>
  (url: string, handlers: Partial<Record<'GET' | 'POST' | 'DELETE', Handler>>): void => {
    const allowed = Object.keys(handlers);
    for (const [method, handler] of Object.entries(handlers)) app.route({ method, url, handler });
    app.route({
      method: METHODS.filter((method) => !allowed.includes(method)),
      url,
      handler: async (request, reply) => {
        const error = new SealaneError(
          'invalid-request',
          `${request.method} is not possible here: use ${allowed.join(' or ')}.`,
        );
        send(request, reply, 405, encode(error), { allow: allowed.join(', ') });
      },
    });
  };
