import type { AuditLog } from '#store';

import { createRateLimiter } from './rate-limiter.ts';

const RECORDS_PER_MINUTE = 60;

/**
 * Writes refused keys to the audit, at most one a second on average: guessing must leave a trace, and must not fill
 * the store. What was left out is counted in the next record.
 */
export const createRefusalRecorder = (
  audit: AuditLog,
  now: () => number,
  onError: (error: unknown) => void,
): ((subject: string, why: string, hash: string) => void) => {
  const limiter = createRateLimiter({ now, defaultPerMinute: RECORDS_PER_MINUTE, burst: 10, capacity: 1 });
  let omitted = 0;
  return (subject, why, hash) => {
    if (limiter.take('refused-key', null) > 0) {
      omitted += 1;
      return;
    }
    // Enough of the hash to tell two wrong keys apart, and of no use to anybody else.
    const facts = { why, fingerprint: hash.slice(0, 8), ...(omitted > 0 && { omitted }) };
    omitted = 0;
    audit.record({ at: now(), kind: 'refused-key', actor: subject, subject, facts }).catch(onError);
  };
};
