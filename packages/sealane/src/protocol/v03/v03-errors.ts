import type { SealaneError } from '#domain';

import { ERRORS } from '../errors.ts';

/** The `error` member of a JSON-RPC answer as 0.3 wants it: the codes of 1.0, and an object for the facts. */
export const encodeV03Error = (error: SealaneError): string =>
  JSON.stringify({ code: ERRORS[error.code].jsonRpc, message: error.message, data: legacyErrorData(error) });

export const legacyErrorData = ({ code, facts, retryAfterMs }: SealaneError): object => ({
  ...facts,
  reason: ERRORS[code].reason,
  ...(retryAfterMs !== undefined && { retryAfterMs }),
});
