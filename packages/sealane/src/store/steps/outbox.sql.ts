import { sql } from './step.ts';

export const WEBHOOKS = sql<{ id: string; config: string }>(`
  SELECT id, config FROM push_configs WHERE task = ? ORDER BY id`);
export const SAVE_WEBHOOK = sql(`
  INSERT INTO push_configs (task, id, config, silent) VALUES (?, ?, ?, ?)
  ON CONFLICT (task, id) DO UPDATE SET config = excluded.config, silent = excluded.silent`);
export const DELETE_WEBHOOK = sql<{ id: string }>(`DELETE FROM push_configs WHERE task = ? AND id = ? RETURNING id`);
export const DELETE_WEBHOOKS = sql(`DELETE FROM push_configs WHERE task = ?`);
/** Whoever changes a task's webhooks holds its head, as those who write its events do. */
export const SET_HEAD_PUSH = sql(`
  UPDATE heads SET push = CASE WHEN EXISTS (SELECT 1 FROM push_configs WHERE task = ? AND silent = 0) THEN 1 ELSE 0 END
  WHERE task = ?`);

/** Owes events to every webhook of their task: a range that is owed already grows, also while somebody works on it. */
export const OWE = sql(`
  INSERT INTO outbox (kind, task, target, first_seq, last_seq, due_at, attempts, claims, held)
  SELECT 'push', task, id, CAST(? AS BIGINT), CAST(? AS BIGINT), now_ms(), 0, 0, 0
  FROM push_configs WHERE task = ? AND silent = 0
  ON CONFLICT (task, kind, target) DO UPDATE SET last_seq = excluded.last_seq`);

export interface OwedRow {
  readonly k: number;
  readonly claims: number;
  readonly task_id: string;
  readonly context_id: string;
  readonly target: string;
  readonly config: string;
  readonly first_seq: number;
  readonly last_seq: number;
  readonly attempts: number;
}
/** The time is asked for once, so that it can bound the search in the index. */
export const DUE = sql<{ k: number }>(`
  SELECT k FROM outbox WHERE kind = 'push' AND due_at <= (SELECT now_ms()) ORDER BY due_at LIMIT ? {lock-free}`);
export const HOLD_OWED = sql(`UPDATE outbox SET claims = claims + 1, held = 1, due_at = now_ms() + ? WHERE k = ?`);
export const OWED = sql<OwedRow>(`
  SELECT outbox.k AS k, claims, tasks.id AS task_id, context_id, target, config, first_seq, last_seq, attempts
  FROM outbox
  JOIN tasks ON tasks.k = outbox.task
  JOIN push_configs ON push_configs.task = outbox.task AND push_configs.id = outbox.target
  WHERE outbox.k = ?`);
export const ADVANCE_OWED = sql<{ first_seq: number; last_seq: number }>(`
  UPDATE outbox SET first_seq = ?, due_at = now_ms() + ?, attempts = 0
  WHERE k = ? AND claims = ? AND held = 1 RETURNING first_seq, last_seq`);
export const DELETE_OWED = sql(`DELETE FROM outbox WHERE k = ?`);
export const RETURN_OWED = sql<{ k: number }>(`
  UPDATE outbox SET attempts = attempts + 1, held = 0, due_at = now_ms() + ?
  WHERE k = ? AND claims = ? AND held = 1 {changed}`);
export const DELETE_OWED_TO = sql(`DELETE FROM outbox WHERE task = ? AND kind = 'push' AND target = ?`);
export const DELETE_OWED_OF = sql(`DELETE FROM outbox WHERE task = ?`);
