import type { FastifyRequest } from 'fastify';

import { SealaneError } from '#domain';
import type { KeyHolder } from '#identity';

import type { HttpDeps } from './http-deps.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who calls; null on the routes that need no key. */
    holder: KeyHolder | null;
    /** On the monotonic clock. */
    beganAt: number;
  }
}

/** A hook for routes that need a key: finds out who calls and counts the call. */
export const requireKey =
  ({ keys, rateLimiter }: Pick<HttpDeps, 'keys' | 'rateLimiter'>) =>
  async (request: FastifyRequest): Promise<void> => {
    const holder = await keys.authenticate(request.raw.headers.authorization);
    if (holder === undefined) {
      const why = request.raw.headers.authorization === undefined ? 'The call has no key' : 'The key is not valid';
      throw new SealaneError('unauthenticated', `${why}: send "Authorization: Bearer <key>".`);
    }
    const retryAfterMs = rateLimiter.take(holder.keyId, holder.ratePerMinute);
    if (retryAfterMs > 0) {
      throw new SealaneError('rate-limited', `Too many calls with this key: wait ${retryAfterMs} ms.`, {
        retryAfterMs,
      });
    }
    request.holder = holder;
  };

/** A hook after `requireKey`, for the operator's routes. */
export const requireAdmin = async (request: FastifyRequest): Promise<void> => {
  if (!holderOf(request).admin) {
    throw new SealaneError('forbidden', "This key is not an admin's: use the operator's key (`npx sealane key`).");
  }
};

export const holderOf = (request: FastifyRequest): KeyHolder => {
  if (request.holder === null) throw new Error(`No key was required on ${request.url}.`);
  return request.holder;
};
