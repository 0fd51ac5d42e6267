import type { EventRow } from './event-text.ts';
import { sql } from './step.ts';

/** A task's row without its content. */
export interface FactsRow {
  readonly k: number;
  readonly id: string;
  readonly context_id: string;
  readonly status_state: string;
  readonly status_timestamp: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly owner: string;
  readonly tenant: string;
  readonly agent: string;
  readonly dialect: string;
  readonly session: string;
  /** 1: the answer is a Message, so the task is not listed. 2: the task was removed, and no call finds it. */
  readonly direct: number;
  readonly turns: number;
  readonly folded: number;
  /** 1 while the task waits or runs. */
  readonly open: number;
  /** The id that a removed task had. */
  readonly removed_id: string | null;
}

export interface TaskRow extends FactsRow {
  readonly status_message: string | null;
  readonly artifacts: string;
  readonly history: string;
  readonly metadata: string;
}

/** No caller can name an id that begins with this: ids have no control characters. */
const REMOVED = '\n';

const FACTS = `k, id, context_id, status_state, status_timestamp, created_at, updated_at, owner, tenant, agent, dialect,
    session, direct, turns, folded, open, removed_id`;

export const INSERT_TASK = sql<{ k: number }>(`
  INSERT INTO tasks (id, context_id, status_state, status_message, status_timestamp, created_at, updated_at,
    artifacts, history, metadata, owner, tenant, agent, dialect, session, direct, turns, folded, open)
  VALUES (?, ?, ?, NULL, ?, ?, ?, '[]', '[]', ?, ?, ?, ?, ?, ?, ?, ?, 0, ?)
  {new-key}`);
export const TASK_BY_ID = sql<TaskRow>(`SELECT * FROM tasks WHERE id = ?`);
export const TASK_BY_KEY = sql<TaskRow>(`SELECT * FROM tasks WHERE k = ?`);
export const FACTS_BY_ID = sql<FactsRow>(`SELECT ${FACTS} FROM tasks WHERE id = ?`);
export const FACTS_BY_KEY = sql<FactsRow>(`SELECT ${FACTS} FROM tasks WHERE k = ?`);
/** Tasks of this name that were removed, the latest first. Few: they go within a minute. */
export const REMOVED_BY_ID = sql<FactsRow>(`SELECT ${FACTS} FROM tasks WHERE removed_id = ? ORDER BY k DESC LIMIT 100`);
/** Both from one moment, as `peek` promises. */
export const PEEK = sql<FactsRow & { readonly seq: number }>(`
  SELECT ${FACTS}, (SELECT seq FROM heads WHERE heads.task = tasks.k) AS seq FROM tasks WHERE id = ?`);
/** What a run needs of its task's row. */
export const RUN_TASK = sql<FactsRow & { readonly metadata: string }>(
  `SELECT ${FACTS}, metadata FROM tasks WHERE k = ?`,
);
export const HISTORY_OF = sql<{ history: string }>(`SELECT history FROM tasks WHERE k = ?`);
/** A row if a text stands anywhere in the history. */
export const IN_HISTORY = sql<{ k: number }>(`SELECT k FROM tasks WHERE k = ? AND {position}(history, ?) > 0`);
/** How many tasks one statement reads. The number is fixed, so a list does not need a statement for each length. */
export const GROUP = 8;
export const GROUP_KEYS = Array.from({ length: GROUP }, () => '?').join(', ');
/** The keys as parameters. If there are fewer keys than parameters, the first key fills the rest. */
export const inGroup = (keys: readonly number[]): readonly number[] =>
  Array.from({ length: GROUP }, (_, index) => keys[index] ?? keys[0] ?? 0);
export const TASKS_BY_KEY = sql<TaskRow>(`SELECT * FROM tasks WHERE k IN (${GROUP_KEYS})`);
export const TAILS = sql<EventRow & { readonly task: number }>(`
  SELECT events.task AS task, events.seq AS seq, events.at AS at, events.data AS data
  FROM tasks JOIN events ON events.task = tasks.k AND events.seq > tasks.folded
  WHERE tasks.k IN (${GROUP_KEYS}) ORDER BY events.task, events.seq`);
export const STATE_OF = sql<{ status_state: string }>(`SELECT status_state FROM tasks WHERE k = ?`);
/** Changes the state only from the one for which the writer has checked its move. */
export const SET_STATUS = sql<{ k: number }>(`
  UPDATE tasks SET status_state = ?, open = ?, status_timestamp = ?, updated_at = ?
  WHERE k = ? AND status_state = ? {changed}`);
/** Writes the state and the content together. */
export const SET_FOLDED = sql(`
  UPDATE tasks SET status_state = ?, status_message = ?, status_timestamp = ?, artifacts = ?, history = ?, metadata = ?,
    folded = ?, open = ?, updated_at = ? WHERE k = ?`);
export const SET_TURNS = sql(`UPDATE tasks SET turns = ? WHERE k = ?`);
export const SET_CONTEXT = sql(`UPDATE tasks SET context_id = ? WHERE k = ?`);
/** Hides a task, so that its id becomes free. */
export const HIDE_TASK = sql(`
  UPDATE tasks SET id = '${REMOVED}' || CAST(k AS TEXT), removed_id = id, direct = 2 WHERE k = ?`);
export const DELETE_TASK = sql(`DELETE FROM tasks WHERE k = ?`);

export const INSERT_IDEMPOTENCY = sql<{ task_id: string }>(`
  INSERT INTO idempotency (owner, key, body_hash, task_id) VALUES (?, ?, ?, ?)
  ON CONFLICT (owner, key) DO NOTHING RETURNING task_id`);
export const FIND_IDEMPOTENCY = sql<{ body_hash: string; task_id: string }>(`
  SELECT body_hash, task_id FROM idempotency WHERE owner = ? AND key = ?`);
export const DELETE_IDEMPOTENCY = sql(`DELETE FROM idempotency WHERE task_id = ?`);
