import type { CardKeyRecord } from '../storage.ts';
import type { Instant } from '../task-store.ts';
import { all, first, sql, StepConflict, type Steps } from './step.ts';

interface CardKeyRow {
  readonly kid: string;
  readonly private_jwk: string;
  readonly created_at: number;
  readonly retired_at: number | null;
}

const LIST = sql<CardKeyRow>(`
  SELECT kid, private_jwk, created_at, retired_at FROM card_keys ORDER BY created_at DESC, kid`);
const RETIRE = sql<{ kid: string }>(`
  UPDATE card_keys SET retired_at = ? WHERE kid = ? AND retired_at IS NULL RETURNING kid`);
const ADD = sql<{ kid: string }>(`
  INSERT INTO card_keys (kid, private_jwk, created_at, retired_at) VALUES (?, ?, ?, NULL)
  ON CONFLICT DO NOTHING RETURNING kid`);
const FORGET = sql(`DELETE FROM card_keys WHERE retired_at < ?`);

export function* listCardKeys(): Steps<readonly CardKeyRecord[]> {
  const rows = yield* all(LIST);
  return rows.map((row) => ({
    kid: row.kid,
    privateJwk: row.private_jwk,
    createdAt: row.created_at,
    retiredAt: row.retired_at,
  }));
}

export function* replaceCardKey(former: string | null, next: CardKeyRecord, at: Instant): Steps<'replaced' | 'lost'> {
  if (former !== null && !(yield* first(RETIRE, at, former))) return 'lost';
  const added = yield* first(ADD, next.kid, next.privateJwk, next.createdAt);
  if (added) return 'replaced';
  // Another instance has put a key in use. Nothing of this step may stay, so it starts again and finds `former`
  // retired.
  if (former !== null) throw new StepConflict();
  return 'lost';
}

export function* forgetCardKeys(retiredBefore: Instant): Steps<void> {
  yield* first(FORGET, retiredBefore);
}
