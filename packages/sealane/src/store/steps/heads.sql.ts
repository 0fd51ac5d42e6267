import { lock, sql } from './step.ts';
import { GROUP_KEYS } from './tasks.sql.ts';

/** One narrow row per task: the fence, and the task's unfinished turn (see `lanes.sql.ts`). */
export interface HeadRow {
  /** The number of the last event. */
  readonly seq: number;
  readonly epoch: number;
  readonly ended: number;
  readonly cancel: number;
  /** `tail`: the bytes of the events that are not folded yet. `content`: about how many bytes are folded. */
  readonly tail: number;
  readonly content: number;
  /** A mask of the classes of events that followers of the task ask for; see `outbox.sql.ts`. */
  readonly follows: number;
}

const HEAD_COLUMNS = 'seq, epoch, ended, cancel, tail, content, follows';
/** A head has a turn while it has a lane. */
const NO_TURN = `lane = NULL, place = NULL, number = NULL, message_seq = NULL, owner = NULL, call = NULL, queued_at = NULL,
    started_at = NULL, held_at = NULL, holder = NULL, attempt = NULL, ref = NULL, turn_ended = NULL`;

/** The head of a task that has no turn. */
export const INSERT_HEAD = sql(`
  INSERT INTO heads (task, seq, epoch, ended, cancel, tail, content, follows) VALUES (?, ?, 0, ?, 0, 0, ?, 0)`);
/** The head of a new task, with its first turn. */
export const INSERT_HEAD_AND_TURN = sql(`
  INSERT INTO heads (task, seq, epoch, ended, cancel, tail, content, follows, number, message_seq, turn_ended,
    lane, place, owner, call, queued_at, started_at, held_at, holder, attempt)
  VALUES (?, ?, ?, 0, 0, ?, 0, ?, 1, 1, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
export const HEAD = sql<HeadRow>(`SELECT ${HEAD_COLUMNS} FROM heads WHERE task = ?`);
export const LOCK_HEAD = lock(`SELECT seq FROM heads WHERE task = ? {lock}`);

// Statements that advance a head. A step writes events only after one of them has changed the row. With the epoch of a
// run, the statement is the fence of that run. No row means: the lease is lost, the task has ended, or a cancel was
// asked for.

const BY_ITS_RUN = 'WHERE task = ? AND epoch = ? AND ended = 0';
/** What a run reports while it works. */
export const ADVANCE_RUN = sql<HeadRow>(`
  UPDATE heads SET seq = seq + ?, tail = tail + ? ${BY_ITS_RUN} RETURNING ${HEAD_COLUMNS}`);
/** At the end of a turn everything is folded. */
const FOLDED = 'seq = seq + ?, content = content + tail + ?, tail = 0';
const ANSWERS_CANCEL = 'AND (cancel = 0 OR CAST(? AS BIGINT) = 1)';
/** Ends the turn of a run. If a cancel was asked for, only a canceled end (the flag) passes. */
export const END_RUN = sql<HeadRow>(`
  UPDATE heads SET ${FOLDED}, ended = ?, turn_ended = 1 ${BY_ITS_RUN} ${ANSWERS_CANCEL} RETURNING ${HEAD_COLUMNS}`);
/** The same for a run that is already dead. It also takes the turn out of the head and ends the run's epoch. */
export const END_TURN = sql<HeadRow>(`
  UPDATE heads SET ${FOLDED}, ended = ?, epoch = epoch + 1, ${NO_TURN} ${BY_ITS_RUN} ${ANSWERS_CANCEL}
  RETURNING ${HEAD_COLUMNS}`);
/** From outside a run: a message for the run, or the intent to cancel it (the flag). */
export const TELL_RUN = sql<HeadRow>(`
  UPDATE heads SET seq = seq + ?, tail = tail + ?, cancel = CASE WHEN CAST(? AS BIGINT) = 1 THEN 1 ELSE cancel END
  WHERE task = ? AND ended = 0 RETURNING ${HEAD_COLUMNS}`);
/**
 * Ends a task from outside its run. A turn that a run holds stays held. A waiting turn leaves its lane in the same
 * step.
 */
export const END_TASK = sql<HeadRow>(`
  UPDATE heads SET ${FOLDED}, ended = 1, turn_ended = CASE WHEN lane IS NULL THEN NULL ELSE 1 END
  WHERE task = ? AND ended = 0 RETURNING ${HEAD_COLUMNS}`);
/** Adds the next turn of a task. It waits, or has started (a new epoch). Its message is in the first new event. */
export const NEXT_TURN = sql<HeadRow>(`
  UPDATE heads SET message_seq = seq + 1, seq = seq + ?, tail = tail + ?, epoch = epoch + ?, number = ?, cancel = 0,
    turn_ended = 0, ref = NULL, drains = 0, lane = ?, place = ?, owner = ?, call = ?, queued_at = ?, started_at = ?, held_at = ?,
    holder = ?, attempt = ?
  WHERE task = ? AND ended = 0 AND lane IS NULL RETURNING ${HEAD_COLUMNS}`);
/** Gives a turn to a new holder. Later writes of the previous holder fail, because the epoch is another. */
export const START_TURN = sql<HeadRow>(`
  UPDATE heads SET seq = seq + ?, tail = tail + ?, epoch = epoch + 1, holder = ?, attempt = ?, started_at = ?, held_at = ?,
    ref = NULL
  WHERE task = ? RETURNING ${HEAD_COLUMNS}`);
/** Writes the whole task again. */
export const REWRITE_TASK = sql<HeadRow>(`
  UPDATE heads SET ${FOLDED}, ended = ? WHERE task = ? RETURNING ${HEAD_COLUMNS}`);

// Statements that move a turn without an event.

export const REHOLD_TURN = sql<HeadRow>(`
  UPDATE heads SET epoch = epoch + 1, holder = ?, held_at = ? WHERE task = ? RETURNING ${HEAD_COLUMNS}`);
export const RETRY_TURN = sql(`
  UPDATE heads SET epoch = epoch + 1, holder = NULL, ref = NULL, drains = drains + ? WHERE task = ?`);
/** Releases a run whose turn has already ended. Later writes of the run fail, because the epoch is another. */
export const RELEASE_TURN = sql(`UPDATE heads SET epoch = epoch + 1, ${NO_TURN} WHERE task = ?`);
/** Takes away a turn that no run holds. */
export const CLEAR_TURN = sql(`UPDATE heads SET ${NO_TURN} WHERE task = ?`);
export const SET_TURN_REF = sql<{ k: number }>(`UPDATE heads SET ref = ? WHERE task = ? AND epoch = ? {changed}`);

/** About how many bytes there are to read of a task. */
export const SIZES = sql<{ task: number; size: number }>(`
  SELECT task, content + tail AS size FROM heads WHERE task IN (${GROUP_KEYS})`);
export const SET_HEAD_FOLDED = sql(`UPDATE heads SET tail = 0, content = ? WHERE task = ?`);
export const DELETE_HEAD = sql(`DELETE FROM heads WHERE task = ?`);
