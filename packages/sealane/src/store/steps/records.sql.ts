import { TERMINAL_STATES } from '#domain';

import { sql } from './step.ts';

/** A head whose turn waits. */
const WAITS = 'heads.lane IS NOT NULL AND heads.holder IS NULL';

const TERMINAL = TERMINAL_STATES.map((state) => `'${state}'`).join(', ');

export const LIST_LANES = sql<{
  key: string;
  agent: string;
  owner: string;
  waiting: number;
  running: string | null;
  paused: number;
  since: number | null;
}>(`
  SELECT lanes.key, lanes.agent, lanes.owner, lanes.waiting, lanes.paused,
    (SELECT tasks.id FROM heads JOIN tasks ON tasks.k = heads.task
      WHERE heads.holder = lanes.holder AND heads.lane = lanes.k) AS running,
    (SELECT min(heads.queued_at) FROM heads WHERE heads.lane = lanes.k AND heads.holder IS NULL) AS since
  FROM lanes
  WHERE lanes.key > ? AND (CAST(? AS TEXT) IS NULL OR lanes.agent = ?) AND (CAST(? AS TEXT) IS NULL OR lanes.owner = ?)
  ORDER BY lanes.key LIMIT ?`);
export const DROP_UNPAUSED_LANE = sql(`DELETE FROM lanes WHERE k = ? AND waiting = 0 AND holder IS NULL`);

export interface KeyRow {
  readonly id: string;
  readonly name: string;
  readonly owner: string;
  readonly hash: string;
  readonly admin: number;
  readonly agents: string | null;
  readonly permission: string;
  readonly rate_per_minute: number | null;
  readonly created_at: number;
  readonly expires_at: number | null;
  readonly revoked_at: number | null;
}
export const ADD_KEY = sql<{ id: string }>(`
  INSERT INTO api_keys (id, name, owner, hash, admin, agents, permission, rate_per_minute, created_at, expires_at, revoked_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT DO NOTHING RETURNING id`);
export const KEY_BY_HASH = sql<KeyRow>(`SELECT * FROM api_keys WHERE hash = ?`);
export const LIST_KEYS = sql<KeyRow>(`SELECT * FROM api_keys ORDER BY created_at, id`);
/** A revoked key keeps its row for the audit, and its name becomes free. */
export const REVOKE_KEY = sql<{ id: string }>(`
  UPDATE api_keys SET revoked_at = ?, name = name || ' (revoked ' || id || ')'
  WHERE (id = ? OR name = ?) AND revoked_at IS NULL RETURNING id`);

export interface AuditRow {
  readonly at: number;
  readonly kind: string;
  readonly actor: string;
  readonly subject: string;
  readonly facts: string;
}
/** Deletes a bounded number of entries that are too old to keep. */
export const EXPIRE_AUDIT = sql(`
  DELETE FROM audit WHERE k IN (SELECT k FROM audit ORDER BY k LIMIT 500) AND at < ?`);
export const RECORD_AUDIT = sql(`INSERT INTO audit (at, kind, actor, subject, facts) VALUES (?, ?, ?, ?, ?)`);
export const LIST_AUDIT = sql<AuditRow>(`
  SELECT at, kind, actor, subject, facts FROM audit
  WHERE (CAST(? AS TEXT) IS NULL OR subject = ?) AND (CAST(? AS TEXT) IS NULL OR kind = ?)
  ORDER BY k DESC LIMIT ?`);

/** Only turns that have never started: a retry waits on purpose. */
export const QUEUED_BEFORE = sql<{ id: string }>(`
  SELECT tasks.id AS id FROM heads JOIN tasks ON tasks.k = heads.task
  WHERE ${WAITS} AND heads.attempt = 0 AND heads.queued_at < ? ORDER BY heads.queued_at LIMIT ?`);
/** Turns whose retry is long overdue, perhaps because their agent is gone. Few lanes have the time of a retry. */
export const RETRY_BEFORE = sql<{ id: string }>(`
  SELECT tasks.id AS id FROM lanes JOIN heads ON heads.lane = lanes.k JOIN tasks ON tasks.k = heads.task
  WHERE lanes.ready_at > 0 AND lanes.ready_at < ? AND ${WAITS} AND heads.attempt > 0 LIMIT ?`);
export const INTERRUPTED_BEFORE = sql<{ id: string }>(`
  SELECT id FROM tasks
  WHERE status_state IN ('input-required', 'auth-required') AND open = 0 AND status_timestamp < ?
    AND NOT EXISTS (SELECT 1 FROM heads WHERE heads.task = tasks.k AND heads.lane IS NOT NULL)
  LIMIT ?`);

/** The task has no unfinished turn, and nothing is owed about it. */
const IS_OVER = `NOT EXISTS (SELECT 1 FROM heads WHERE heads.task = tasks.k AND heads.lane IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM followers
    WHERE followers.subject_type = 'task' AND followers.subject = tasks.k AND followers.due_at IS NOT NULL)`;
/**
 * Reads one state at a time, in the order of the index. With all states in one query and in no order, a planner that
 * has statistics would read all tasks by their keys, only to find that none is old enough.
 */
export const ENDED_BEFORE = sql<{ k: number; id: string }>(`
  SELECT k, id FROM tasks WHERE status_state = ? AND open = 0 AND status_timestamp < ? AND ${IS_OVER}
  ORDER BY status_timestamp LIMIT ?`);
export const ENDED_OF_OWNER = sql<{ k: number; id: string }>(`
  SELECT k, id FROM tasks WHERE owner = ? AND open = 0 AND status_state IN (${TERMINAL}) AND ${IS_OVER} LIMIT ?`);
export const ENDED_OF_CONTEXT = sql<{ k: number; id: string }>(`
  SELECT k, id FROM tasks
  WHERE context_id = ? AND (CAST(? AS TEXT) IS NULL OR owner = ?) AND status_state IN (${TERMINAL}) AND ${IS_OVER}
  LIMIT ?`);

/** Tasks that were removed a while ago. They stay hidden until nothing is owed about them. */
export const REMOVED_BEFORE = sql<{ k: number; id: string }>(`
  SELECT k, id FROM tasks WHERE removed_id IS NOT NULL AND status_timestamp < ? AND ${IS_OVER} LIMIT ?`);

export const COUNT_TURNS = sql<{ waiting: number; running: number; oldest: number | null }>(`
  SELECT
    (SELECT count(*) FROM heads WHERE ${WAITS} AND queued_at >= 0) AS waiting,
    (SELECT count(*) FROM heads WHERE holder > '') AS running,
    (SELECT min(queued_at) FROM heads WHERE ${WAITS}) AS oldest`);
