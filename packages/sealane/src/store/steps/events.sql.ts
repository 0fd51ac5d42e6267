import { CHUNK_TEXT, type EventRow } from './event-text.ts';
import { sql, type Statement } from './step.ts';

export const INSERT_EVENT = sql(`INSERT INTO events (task, seq, at, data) VALUES (?, ?, ?, ?)`);
export const INSERT_TWO_EVENTS = sql(`INSERT INTO events (task, seq, at, data) VALUES (?, ?, ?, ?), (?, ?, ?, ?)`);
/**
 * The statements that write into the log. Their parameters begin with the task, the number, the time and the text of an
 * event.
 */
export const EVENT_INSERTS: ReadonlySet<Statement> = new Set([INSERT_EVENT, INSERT_TWO_EVENTS]);
export const EVENTS_AFTER = sql<EventRow>(`
  SELECT seq, at, data FROM events WHERE task = ? AND seq > ? ORDER BY seq LIMIT ?`);
const IS_NO_CHUNK = `substr(data, 1, ${CHUNK_TEXT.length}) <> '${CHUNK_TEXT}'`;
/** The same without the chunks of artifacts. */
export const STATES_AFTER = sql<EventRow>(`
  SELECT seq, at, data FROM events WHERE task = ? AND seq > ? AND ${IS_NO_CHUNK} ORDER BY seq LIMIT ?`);
/** A row if a text stands anywhere in the events after a number, chunks left out. */
export const IN_STATES = sql<{ seq: number }>(`
  SELECT seq FROM events WHERE task = ? AND seq > ? AND ${IS_NO_CHUNK} AND {position}(data, ?) > 0 LIMIT 1`);
/** The last event with a state before a number. */
export const STATE_BEFORE = sql<EventRow>(`
  SELECT seq, at, data FROM events WHERE task = ? AND seq < ? AND ${IS_NO_CHUNK} ORDER BY seq DESC LIMIT 1`);
export const EVENT_AT = sql<EventRow>(`SELECT seq, at, data FROM events WHERE task = ? AND seq = ?`);
export const DELETE_EVENTS = sql(`DELETE FROM events WHERE task = ?`);
