import type { FastifyReply, FastifyRequest } from 'fastify';

import type { JsonSender } from './json-reply.ts';

/** What caches may know about a text. */
export interface Cacheable {
  /** Changes with the meaning of the text; equal texts may differ in bytes, so it is a weak validator. */
  readonly tag: string;
  /** Epoch milliseconds. */
  readonly changedAt: number;
  readonly cacheControl: string;
  /** The request headers that the text depends on. */
  readonly vary: readonly string[];
}

/** Sends a text that caches may keep, or 304 to those who have it. */
export const sendCacheable = (
  send: JsonSender,
  request: FastifyRequest,
  reply: FastifyReply,
  text: string,
  { tag, changedAt, cacheControl, vary }: Cacheable,
): void => {
  const isKnown = hasCurrent(request, tag, changedAt);
  // CORS has said by then whether the origin matters.
  const before = reply.raw.getHeader('vary');
  const depends = [...(typeof before === 'string' ? [before] : []), ...vary];
  send(request, reply, isKnown ? 304 : 200, isKnown ? '' : text, {
    etag: `W/"${tag}"`,
    'last-modified': new Date(changedAt).toUTCString(),
    'cache-control': cacheControl,
    ...(depends.length > 0 && { vary: depends.join(', ') }),
  });
};

/** If-None-Match compares weakly and wins over If-Modified-Since, as RFC 9110 wants it. */
const hasCurrent = (request: FastifyRequest, tag: string, changedAt: number): boolean => {
  const { 'if-none-match': known, 'if-modified-since': since } = request.raw.headers;
  if (known !== undefined) {
    return known.trim() === '*' || known.split(',').some((given) => given.trim().replace(/^W\//, '') === `"${tag}"`);
  }
  // HTTP dates have whole seconds.
  return since !== undefined && Date.parse(since) >= Math.floor(changedAt / 1000) * 1000;
};
