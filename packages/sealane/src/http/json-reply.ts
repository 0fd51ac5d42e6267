import type { OutgoingHttpHeaders } from 'node:http';

import type { FastifyReply, FastifyRequest } from 'fastify';

import type { HttpDeps } from './http-deps.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The pattern of the address, where it is not the router that knows it. */
    pattern: string | null;
  }
}

export const patternOf = ({ pattern, routeOptions }: FastifyRequest): string => pattern ?? routeOptions.url ?? 'none';

/** On every answer: nothing of ours is to be guessed at, framed or kept by a cache. */
export const SAFE_HEADERS: OutgoingHttpHeaders = {
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
};

export type JsonSender = (
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  text: string,
  headers?: OutgoingHttpHeaders,
) => void;

/**
 * Writes ready JSON text past the framework's serialisers. `isClosing` answers whether connections are being shut:
 * then this one ends with its answer. A caller that takes nothing of its answer for `stallMs` is disconnected.
 */
export const createJsonSender =
  ({ metrics, unread }: Pick<HttpDeps, 'metrics' | 'unread'>, stallMs: number, isClosing: () => boolean): JsonSender =>
  (request, reply, status, text, headers) => {
    reply.hijack();
    const response = reply.raw;
    if (response.headersSent || response.destroyed) return;
    response.writeHead(status, {
      // 204 and 304 have no body, and must not say that it is empty.
      ...(text !== '' && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
      ...SAFE_HEADERS,
      ...(isClosing() && { connection: 'close' }),
      ...headers,
    });
    response.end(text);
    // What the connection has not taken at once is kept here until it is read, and some answers are large. The time
    // begins anew with every byte that goes out; when nobody listens to its end, Node cuts the connection.
    if (response.writableLength > 0) {
      response.setTimeout(stallMs);
      const held = request.holder && unread.hold(request.holder.keyId, response);
      if (held) response.once('close', () => held[Symbol.dispose]());
    }
    metrics.answered(patternOf(request), status, performance.now() - request.beganAt);
  };
