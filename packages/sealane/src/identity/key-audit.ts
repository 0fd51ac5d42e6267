import type { AuditLog } from '#store';

import { createRateLimiter } from './rate-limiter.ts';

/** What the audit learns of keys beyond their making and their end. */
export interface KeyAudit {
  /** A key that nobody has, or that has ended, was tried. */
  refused(subject: string, why: 'unknown' | 'revoked' | 'expired', hash: string): void;
  /** A good key was used for what it does not allow. */
  forbidden(keyId: string): void;
  /** A good key was used: told once a day, by each instance. */
  used(keyId: string): void;
}

const RECORDS_PER_MINUTE = 60;
const DAY_MS = 24 * 3600 * 1000;
const MAX_KEYS = 10_000;

/**
 * Refusals are written at most once a second on average: guessing must leave a trace, and must not fill the store. What
 * was left out is counted in the next record.
 */
export const createKeyAudit = (audit: AuditLog, now: () => number, onError: (error: unknown) => void): KeyAudit => {
  const limiter = createRateLimiter({ now, defaultPerMinute: RECORDS_PER_MINUTE, burst: 10, capacity: 1 });
  let omitted = 0;
  let today = -1;
  const seen = new Set<string>();

  const refuse = (subject: string, facts: { readonly why: string; readonly fingerprint?: string }): void => {
    if (limiter.take('refused-key', null) > 0) {
      omitted += 1;
      return;
    }
    const all = { ...facts, ...(omitted > 0 && { omitted }) };
    omitted = 0;
    audit.record({ at: now(), kind: 'refused-key', actor: subject, subject, facts: all }).catch(onError);
  };

  return {
    // Enough of the hash to tell two wrong keys apart, and of no use to anybody else.
    refused: (subject, why, hash) => refuse(subject, { why, fingerprint: hash.slice(0, 8) }),
    forbidden: (keyId) => refuse(keyId, { why: 'forbidden' }),
    used: (keyId) => {
      const at = now();
      const day = Math.floor(at / DAY_MS);
      if (day !== today) seen.clear();
      today = day;
      if (seen.has(keyId) || seen.size >= MAX_KEYS) return;
      seen.add(keyId);
      audit.record({ at, kind: 'key-used', actor: keyId, subject: keyId, facts: {} }).catch(onError);
    },
  };
};
