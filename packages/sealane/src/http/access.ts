import type { FastifyRequest } from 'fastify';

import { SealaneError } from '#domain';
import { createAuthorizer, type KeyHolder } from '#identity';

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
export const requireKey = (deps: Pick<HttpDeps, 'keys' | 'rateLimiter'>) => {
  const authorize = createAuthorizer(deps);
  return (request: FastifyRequest): Promise<void> =>
    authorize(request.raw.headers.authorization).then((holder) => {
      request.holder = holder;
    });
};

/** A hook after `requireKey`, for the operator's routes. */
export const requireAdmin =
  ({ keys }: Pick<HttpDeps, 'keys'>) =>
  async (request: FastifyRequest): Promise<void> => {
    const { admin, keyId } = holderOf(request);
    if (!admin) {
      keys.noteForbidden(keyId);
      throw new SealaneError('forbidden', "This key is not an admin's: use the operator's key (`npx sealane key`).");
    }
  };

export const holderOf = (request: FastifyRequest): KeyHolder => {
  if (request.holder === null) throw new Error(`No key was required on ${request.url}.`);
  return request.holder;
};
