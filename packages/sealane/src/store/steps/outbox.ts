import type { JsonObject, Seq } from '#domain';

import type { Owed, OwedClaim } from '../outbox-store.ts';
import { ADVANCE_OWED, DELETE_OWED, DUE, HOLD_OWED, OWED, type OwedRow, RETURN_OWED } from './outbox.sql.ts';
import { all, first, type Steps } from './step.ts';

const owedOf = (row: OwedRow): Owed => ({
  claim: { taskId: row.task_id, k: row.k, claims: row.claims },
  contextId: row.context_id,
  webhook: { taskId: row.task_id, id: row.target, config: JSON.parse(row.config) as JsonObject },
  firstSeq: row.first_seq,
  lastSeq: row.last_seq,
  attempts: row.attempts,
});

/** Rows that somebody else is just claiming are passed over; the others are ours from this commit on. */
export function* claimOwed(request: { readonly limit: number; readonly leaseMs: number }): Steps<readonly Owed[]> {
  const claimed: Owed[] = [];
  for (const { k } of yield* all(DUE, request.limit)) {
    yield* first(HOLD_OWED, request.leaseMs, k);
    const row = yield* first(OWED, k);
    if (row) claimed.push(owedOf(row));
  }
  return claimed;
}

/** Events may have been added since: they are answered at once, and nobody has to find them. */
export function* doneOwed({ k, claims }: OwedClaim, upTo: Seq, leaseMs: number): Steps<Owed | undefined> {
  const left = yield* first(ADVANCE_OWED, upTo + 1, leaseMs, k, claims);
  if (!left) return undefined;
  if (left.first_seq > left.last_seq) {
    yield* first(DELETE_OWED, k);
    return undefined;
  }
  const row = yield* first(OWED, k);
  return row && owedOf(row);
}

export function* failedOwed({ k, claims }: OwedClaim, retryAfterMs: number): Steps<boolean> {
  return (yield* first(RETURN_OWED, retryAfterMs, k, claims)) !== undefined;
}
