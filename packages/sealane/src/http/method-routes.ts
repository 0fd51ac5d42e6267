import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { SealaneError } from '#domain';

import type { ErrorWording } from './error-replies.ts';
import type { JsonSender } from './json-reply.ts';

export type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** Adds routes by address: a method that an address does not have is answered 405, with those that it has. */
export const createRouteAdder =
  (app: FastifyInstance, send: JsonSender, wording: ErrorWording) =>
  (url: string, handlers: Partial<Record<'GET' | 'POST' | 'DELETE', Handler>>): void => {
    const allowed = Object.keys(handlers);
    for (const [method, handler] of Object.entries(handlers)) app.route({ method, url, handler });
    app.route({
      method: METHODS.filter((method) => !allowed.includes(method)),
      url,
      handler: async (request, reply) => refuseMethod(send, wording, request, reply, allowed),
    });
  };

export const refuseMethod = (
  send: JsonSender,
  { contentType, encode }: ErrorWording,
  request: FastifyRequest,
  reply: FastifyReply,
  allowed: readonly string[],
): void => {
  const error = new SealaneError(
    'invalid-request',
    `${request.method} is not possible here: use ${allowed.join(' or ')}.`,
  );
  send(request, reply, 405, encode(error, 405), { 'content-type': contentType, allow: allowed.join(', ') });
};
