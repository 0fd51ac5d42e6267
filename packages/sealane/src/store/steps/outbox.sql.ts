import { sql } from './step.ts';

/** A follower, with what it has not handled yet. */
export interface FollowerRow {
  readonly k: number;
  readonly kind: string;
  readonly target: string;
  readonly subject_type: string;
  readonly subject: number;
  readonly events: number;
  readonly first_seq: number;
  readonly last_seq: number;
  readonly attempts: number;
  readonly claim: number | null;
}

const COLUMNS = 'k, kind, target, subject_type, subject, events, first_seq, last_seq, attempts, claim';

export const ADD_FOLLOWER = sql(`
  INSERT INTO followers (kind, target, subject_type, subject, events, first_seq, last_seq, due_at, attempts, claim)
  VALUES (?, ?, ?, ?, ?, 1, 0, NULL, 0, NULL)
  ON CONFLICT (subject_type, subject, kind, target) DO UPDATE SET events = excluded.events`);
export const DROP_FOLLOWER = sql(`
  DELETE FROM followers WHERE subject_type = ? AND subject = ? AND kind = ? AND target = ?`);
export const DROP_FOLLOWERS_OF = sql(`DELETE FROM followers WHERE subject_type = ? AND subject = ?`);
/** A step that changes the followers of a task has locked its head, like the steps that write its events. */
export const SET_FOLLOWS = sql(`
  UPDATE heads SET follows = COALESCE(
    (SELECT SUM(DISTINCT events) FROM followers WHERE subject_type = 'task' AND subject = heads.task), 0)
  WHERE task = ?`);

/** Owes events to those followers of a subject that ask for their class. A range that is owed already grows. */
export const OWE = sql(`
  UPDATE followers SET
    first_seq = CASE WHEN first_seq > last_seq THEN CAST(? AS BIGINT) ELSE first_seq END,
    last_seq = CAST(? AS BIGINT),
    due_at = CASE WHEN first_seq > last_seq THEN now_ms() ELSE due_at END
  WHERE subject_type = ? AND subject = ? AND events = ?`);

/**
 * Targets for which something is due and that have no claim. The subquery evaluates the time once, so that the time can
 * bound the search in the index.
 */
export const DUE = sql<{ target: string }>(`
  SELECT target FROM followers
  WHERE kind = ? AND claim IS NULL AND due_at IS NOT NULL AND due_at <= (SELECT now_ms())
    AND NOT EXISTS (SELECT 1 FROM claims WHERE claims.kind = followers.kind AND claims.target = followers.target)
  ORDER BY due_at LIMIT ?`);
export const OPEN_CLAIM = sql<{ k: number }>(`
  INSERT INTO claims (kind, target, instance, lease_until, advances) VALUES (?, ?, ?, now_ms() + ?, 0)
  ON CONFLICT (kind, target) DO NOTHING {new-key}`);
/**
 * In the order of their subjects, which is also the order in which steps lock them to write events. Skips the rows that
 * another step is writing.
 */
export const DUE_OF = sql<FollowerRow>(`
  SELECT ${COLUMNS} FROM followers
  WHERE kind = ? AND target = ? AND claim IS NULL AND due_at IS NOT NULL AND due_at <= (SELECT now_ms())
  ORDER BY subject_type, subject LIMIT ? {lock-free}`);
export const CLAIM_FOLLOWER = sql(`UPDATE followers SET claim = ? WHERE k = ?`);

/**
 * The fence of a claim's holder, and its sign of life. No row: the claim is void, because its lease or that of its instance
 * is over; or this advance was done before, and its answer was lost.
 */
export const KEEP_CLAIM = sql<{ k: number }>(`
  UPDATE claims SET lease_until = now_ms() + ?, advances = advances + 1
  WHERE k = ? AND advances = ? AND lease_until > now_ms()
    AND EXISTS (SELECT 1 FROM instances WHERE instances.id = claims.instance AND instances.lease_until > now_ms())
  {changed}`);
/** What is left after an event. Never moves back: a range that was empty may have been owed events since. */
const LEFT = 'first_seq = CASE WHEN first_seq < CAST(? AS BIGINT) THEN CAST(? AS BIGINT) ELSE first_seq END';
/** The follower has handled everything up to an event. It leaves the claim when nothing is left. */
export const ADVANCE_FOLLOWER = sql(`
  UPDATE followers SET ${LEFT}, attempts = 0,
    due_at = CASE WHEN last_seq < CAST(? AS BIGINT) THEN NULL ELSE due_at END,
    claim = CASE WHEN last_seq < CAST(? AS BIGINT) THEN NULL ELSE claim END
  WHERE k = ? AND claim = ?`);
/** The same for a follower that asks to be called again after a time. If more is owed to it, it is due at once. */
export const ADVANCE_AND_CALL_AGAIN = sql(`
  UPDATE followers SET ${LEFT}, attempts = 0, claim = NULL,
    due_at = now_ms() + CASE WHEN last_seq < CAST(? AS BIGINT) THEN CAST(? AS BIGINT) ELSE 0 END
  WHERE k = ? AND claim = ?`);
/** The follower has handled nothing, and asks to be called again after a time. */
export const RETRY_FOLLOWER = sql(`
  UPDATE followers SET claim = NULL, attempts = attempts + 1, due_at = now_ms() + ? WHERE k = ? AND claim = ?`);
export const CLAIMED = sql<FollowerRow>(`
  SELECT ${COLUMNS} FROM followers WHERE claim = ? ORDER BY subject_type, subject`);
export const CLOSE_CLAIM = sql(`DELETE FROM claims WHERE k = ?`);

/** Claims that have lapsed: their lease is over, or the lease of their instance. */
export const LAPSED_CLAIMS = sql<{ k: number }>(`
  SELECT k FROM claims
  WHERE lease_until <= (SELECT now_ms())
    OR NOT EXISTS (SELECT 1 FROM instances WHERE instances.id = claims.instance AND instances.lease_until > (SELECT now_ms()))
  ORDER BY k LIMIT ? {lock-free}`);
export const FREE_FOLLOWERS = sql(`UPDATE followers SET claim = NULL, due_at = now_ms() WHERE claim = ?`);

export const FOLLOWER = sql<FollowerRow>(`SELECT ${COLUMNS} FROM followers WHERE k = ?`);
/** Answers a row if something is owed about a subject. */
export const OWED_OF = sql<{ k: number }>(`
  SELECT k FROM followers WHERE subject_type = ? AND subject = ? AND due_at IS NOT NULL LIMIT 1`);
