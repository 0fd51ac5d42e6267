import { SealaneError } from '#domain';

import type { KeyHolder, Keys } from './keys.ts';
import type { RateLimiter } from './rate-limiter.ts';

/** Finds out who calls, by an `Authorization` header, and counts the call; throws `unauthenticated` or `rate-limited`. */
export type Authorizer = (authorization: string | undefined) => Promise<KeyHolder>;

/** The one door of every binding: the same keys, the same rates and the same words, whatever carries the call. */
export const createAuthorizer =
  ({ keys, rateLimiter }: { readonly keys: Keys; readonly rateLimiter: RateLimiter }): Authorizer =>
  (authorization) =>
    keys.authenticate(authorization).then((holder) => {
      if (holder === undefined) {
        const why = authorization === undefined ? 'The call has no key' : 'The key is not valid';
        throw new SealaneError('unauthenticated', `${why}: send "Authorization: Bearer <key>".`);
      }
      const retryAfterMs = rateLimiter.take(holder.keyId, holder.ratePerMinute);
      if (retryAfterMs > 0) {
        throw new SealaneError('rate-limited', `Too many calls with this key: wait ${retryAfterMs} ms.`, {
          retryAfterMs,
        });
      }
      return holder;
    });

/** What ends an answer that began under a key and outlived it. */
export const keyHasEnded = (): SealaneError =>
  new SealaneError('unauthenticated', 'The key was revoked or has expired: go on with another one.');
