import { lock, sql, type Statement } from './step.ts';

export interface TaskRow {
  readonly k: number;
  readonly id: string;
  readonly context_id: string;
  readonly status_state: string;
  readonly status_message: string | null;
  readonly status_timestamp: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly artifacts: string;
  readonly history: string;
  readonly metadata: string;
  readonly owner: string;
  readonly tenant: string;
  readonly agent: string;
  readonly dialect: string;
  readonly session: string;
  readonly direct: number;
  readonly turns: number;
  readonly folded: number;
  /** 1 while it waits or runs. */
  readonly open: number;
}

export interface HeadRow {
  readonly seq: number;
  readonly epoch: number;
  readonly ended: number;
  readonly cancel: number;
  readonly tail: number;
  readonly content: number;
  /** 1: there is a webhook to tell. */
  readonly push: number;
}

export interface EventRow {
  readonly seq: number;
  readonly at: number;
  readonly data: string;
}

export const INSERT_TASK = sql<{ k: number }>(`
  INSERT INTO tasks (id, context_id, status_state, status_message, status_timestamp, created_at, updated_at,
    artifacts, history, metadata, owner, tenant, agent, dialect, session, direct, turns, folded, open)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  {new-key}`);
export const TASK_BY_ID = sql<TaskRow>(`SELECT * FROM tasks WHERE id = ?`);
export const TASK_BY_KEY = sql<TaskRow>(`SELECT * FROM tasks WHERE k = ?`);
/** So many tasks are read at once: a list needs few statements, and not one of its own for each length. */
export const GROUP = 8;
const GROUP_KEYS = Array.from({ length: GROUP }, () => '?').join(', ');
/** The keys as parameters; fewer than there are places for are said again. */
export const inGroup = (keys: readonly number[]): readonly number[] =>
  Array.from({ length: GROUP }, (_, index) => keys[index] ?? keys[0] ?? 0);
export const TASKS_BY_KEY = sql<TaskRow>(`SELECT * FROM tasks WHERE k IN (${GROUP_KEYS})`);
export const TAILS = sql<EventRow & { readonly task: number }>(`
  SELECT events.task AS task, events.seq AS seq, events.at AS at, events.data AS data
  FROM tasks JOIN events ON events.task = tasks.k AND events.seq > tasks.folded
  WHERE tasks.k IN (${GROUP_KEYS}) ORDER BY events.task, events.seq`);
export const STATE_OF = sql<{ status_state: string }>(`SELECT status_state FROM tasks WHERE k = ?`);
/** Only from the state that the writer has checked its move from. */
export const SET_STATUS = sql<{ k: number }>(`
  UPDATE tasks SET status_state = ?, open = ?, status_timestamp = ?, updated_at = ?
  WHERE k = ? AND status_state = ? {changed}`);
export const SET_SNAPSHOT = sql(`
  UPDATE tasks SET status_state = ?, status_message = ?, status_timestamp = ?, artifacts = ?, history = ?, metadata = ?,
    open = ?, updated_at = ?, folded = ? WHERE k = ?`);
export const SET_CONTENT = sql(`
  UPDATE tasks SET status_message = ?, artifacts = ?, history = ?, metadata = ?, folded = ? WHERE k = ?`);
export const SET_TURNS = sql(`UPDATE tasks SET turns = ? WHERE k = ?`);
export const SET_CONTEXT = sql(`UPDATE tasks SET context_id = ? WHERE k = ?`);
export const DELETE_TASK = sql(`DELETE FROM tasks WHERE k = ?`);

const HEAD_COLUMNS = 'seq, epoch, ended, cancel, tail, content, push';
/** A head has a turn while it has a lane. */
const NO_TURN = `lane = NULL, place = NULL, number = NULL, message_seq = NULL, owner = NULL, call = NULL, queued_at = NULL,
    started_at = NULL, held_at = NULL, holder = NULL, attempt = NULL, ref = NULL, turn_ended = NULL`;

export const INSERT_HEAD = sql(`
  INSERT INTO heads (task, seq, epoch, ended, cancel, tail, content, push) VALUES (?, 1, 0, ?, 0, 0, ?, 0)`);
/** The head of a new task, with its first turn. */
export const INSERT_HEAD_AND_TURN = sql(`
  INSERT INTO heads (task, seq, epoch, ended, cancel, tail, content, push, number, message_seq, turn_ended,
    lane, place, owner, call, queued_at, started_at, held_at, holder, attempt)
  VALUES (?, ?, ?, 0, 0, ?, 0, ?, 1, 1, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
export const HEAD = sql<HeadRow>(`SELECT ${HEAD_COLUMNS} FROM heads WHERE task = ?`);
export const LOCK_HEAD = lock(`SELECT seq FROM heads WHERE task = ? {lock}`);
/** The fence of a run: no row means that its lease is lost or its task has ended. */
export const ADVANCE_RUN = sql<HeadRow>(`
  UPDATE heads SET seq = seq + ?, tail = tail + ?
  WHERE task = ? AND epoch = ? AND ended = 0 RETURNING ${HEAD_COLUMNS}`);
const END = 'UPDATE heads SET seq = seq + ?, tail = tail + ?, ended = ?';
const IS_ITS_RUN = 'task = ? AND epoch = ? AND ended = 0';
/** The end of a run's turn: a cancel that was asked for before is only answered by a canceled end (the flag). */
export const END_RUN = sql<HeadRow>(`
  ${END}, turn_ended = 1
  WHERE ${IS_ITS_RUN} AND (cancel = 0 OR CAST(? AS BIGINT) = 1) RETURNING ${HEAD_COLUMNS}`);
/** The same for a run that is dead already: its turn is over as well, and its epoch. */
export const END_TURN = sql<HeadRow>(`
  ${END}, epoch = epoch + 1, ${NO_TURN}
  WHERE ${IS_ITS_RUN} AND (cancel = 0 OR CAST(? AS BIGINT) = 1) RETURNING ${HEAD_COLUMNS}`);
/** A run that ends without its turn's last events: it is released, and whatever it still writes misses its epoch. */
export const RELEASE_TURN = sql(`UPDATE heads SET epoch = epoch + 1, ${NO_TURN} WHERE task = ?`);
/** A turn that nobody holds. */
export const CLEAR_TURN = sql(`UPDATE heads SET ${NO_TURN} WHERE task = ?`);
/** A turn of a task that has had others. */
export const SET_TURN = sql(`
  UPDATE heads SET number = ?, message_seq = ?, lane = ?, place = ?, owner = ?, call = ?, queued_at = ?, started_at = ?,
    held_at = ?, holder = ?, attempt = ?, ref = NULL, turn_ended = 0
  WHERE task = ?`);
/** A new holder: whatever the previous one still writes misses its epoch. */
export const START_TURN = sql<HeadRow>(`
  UPDATE heads SET epoch = epoch + 1, seq = seq + 1, holder = ?, attempt = ?, started_at = ?, held_at = ?, ref = NULL
  WHERE task = ? RETURNING ${HEAD_COLUMNS}`);
export const REHOLD_TURN = sql<HeadRow>(`
  UPDATE heads SET epoch = epoch + 1, holder = ?, held_at = ? WHERE task = ? RETURNING ${HEAD_COLUMNS}`);
export const RETRY_TURN = sql(`UPDATE heads SET epoch = epoch + 1, holder = NULL, ref = NULL WHERE task = ?`);
/** A turn that starts in the step that sets it. */
export const BEGIN_TURN = sql<HeadRow>(`
  UPDATE heads SET epoch = epoch + 1, seq = seq + 1 WHERE task = ? RETURNING ${HEAD_COLUMNS}`);
export const SET_TURN_REF = sql<{ k: number }>(`UPDATE heads SET ref = ? WHERE task = ? AND epoch = ? {changed}`);
export const SET_TURN_ENDED = sql(`UPDATE heads SET turn_ended = 1 WHERE task = ?`);
export const SET_CANCEL = sql(`UPDATE heads SET cancel = 1 WHERE task = ?`);
/** The same fence for those who write from outside a run. */
export const ADVANCE_TASK = sql<HeadRow>(`
  UPDATE heads SET seq = seq + ?, tail = tail + ?, ended = ?
  WHERE task = ? AND ended = 0 RETURNING ${HEAD_COLUMNS}`);
/** How much there is to read of a task. */
export const SIZES = sql<{ task: number; size: number }>(`
  SELECT task, content + tail AS size FROM heads WHERE task IN (${GROUP_KEYS})`);
export const SET_HEAD_FOLDED = sql(`UPDATE heads SET tail = 0, content = ? WHERE task = ?`);
export const REOPEN_HEAD = sql<HeadRow>(`
  UPDATE heads SET seq = seq + 1, ended = ?, tail = 0, content = ? WHERE task = ? RETURNING ${HEAD_COLUMNS}`);
export const DELETE_HEAD = sql(`DELETE FROM heads WHERE task = ?`);

export const INSERT_EVENT = sql(`INSERT INTO events (task, seq, at, data) VALUES (?, ?, ?, ?)`);
export const INSERT_TWO_EVENTS = sql(`INSERT INTO events (task, seq, at, data) VALUES (?, ?, ?, ?), (?, ?, ?, ?)`);
/** Whatever writes into the log begins with the task, the number, the time and the words of an event. */
export const EVENT_INSERTS: ReadonlySet<Statement> = new Set([INSERT_EVENT, INSERT_TWO_EVENTS]);
export const EVENTS_AFTER = sql<EventRow>(`
  SELECT seq, at, data FROM events WHERE task = ? AND seq > ? ORDER BY seq LIMIT ?`);
export const EVENT_AT = sql<EventRow>(`SELECT seq, at, data FROM events WHERE task = ? AND seq = ?`);
export const DELETE_EVENTS = sql(`DELETE FROM events WHERE task = ?`);

export const INSERT_IDEMPOTENCY = sql<{ task_id: string }>(`
  INSERT INTO idempotency (owner, key, body_hash, task_id) VALUES (?, ?, ?, ?)
  ON CONFLICT (owner, key) DO NOTHING RETURNING task_id`);
export const FIND_IDEMPOTENCY = sql<{ body_hash: string; task_id: string }>(`
  SELECT body_hash, task_id FROM idempotency WHERE owner = ? AND key = ?`);
export const DELETE_IDEMPOTENCY = sql(`DELETE FROM idempotency WHERE task_id = ?`);
