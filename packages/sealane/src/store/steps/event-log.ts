import type { Event, NewEvent } from '#domain';

import type { Instant } from '../task-store.ts';
import { OWE } from './outbox.sql.ts';
import { all, each, first, OWED_WORD, type Param, type Steps, wake } from './step.ts';
import { type EventRow, EVENTS_AFTER, type HeadRow, INSERT_EVENT, INSERT_TWO_EVENTS } from './tasks.sql.ts';

let lastAt = 0;
let lastIso = new Date(0).toISOString();

/** Most calls of a batch are of the same millisecond, and formatting a date is not free. */
export const isoOf = (at: Instant): string => {
  if (at !== lastAt) {
    lastIso = new Date(at).toISOString();
    lastAt = at;
  }
  return lastIso;
};

/** A row of the log: task, number, time, text. */
export type LogRow = readonly [task: number, seq: number, at: Instant, data: string];

/** What is said at length comes last: so it can be cut out of the text of its event without reading that. */
const inOrder = (event: NewEvent): object => {
  if (event.kind === 'artifact-added') {
    const { kind, append, lastChunk, metadata, artifact } = event;
    return { kind, append, lastChunk, metadata, artifact };
  }
  if (event.kind === 'turn-ended') {
    const { kind, state, reason, forced, metadata, message } = event;
    return { kind, state, reason, forced, metadata, message };
  }
  if (event.kind === 'task-admitted') {
    const { kind, state, metadata, queuedAt, queuePosition, message } = event;
    return { kind, state, metadata, queuedAt, queuePosition, message };
  }
  return event;
};

/** Events as they stand in the log, and how long they are together. */
export const inWords = (
  events: readonly NewEvent[],
): { readonly texts: readonly string[]; readonly length: number } => {
  const texts = events.map((event) => JSON.stringify(inOrder(event)));
  return { texts, length: texts.reduce((sum, text) => sum + text.length, 0) };
};

/** Numbers events from `from` on, as rows for the log and as what readers get. */
export const numbered = (
  task: number,
  from: number,
  events: readonly NewEvent[],
  at: Instant,
  texts: readonly string[] = inWords(events).texts,
): { readonly rows: readonly LogRow[]; readonly committed: Event[] } => {
  const iso = isoOf(at);
  return {
    rows: texts.map((text, index) => [task, from + index, at, text] as const),
    committed: events.map((event, index) => ({ seq: from + index, at: iso, event })),
  };
};

export const eventOf = ({ seq, at, data }: EventRow): Event => ({
  seq,
  at: isoOf(at),
  event: JSON.parse(data) as NewEvent,
});

/** Told without reading it: `kind` is the first word of every event. */
export const addsArtifact = ({ data }: EventRow): boolean => data.startsWith('{"kind":"artifact-added"');

const ALL = Number.MAX_SAFE_INTEGER;

/** The log after number `after`, as it stands there. */
export function* rowsAfter(task: number, after: number, limit = ALL): Steps<readonly EventRow[]> {
  return yield* all(EVENTS_AFTER, task, after, limit);
}

type Telling = Pick<HeadRow, 'push'>;

/**
 * The only way into the log: what is appended is owed to the task's webhooks in the same step. `head` is what the
 * statement that advanced it has answered, so a task without webhooks is not asked about any.
 */
export function* insertEvents(head: Telling, rows: readonly LogRow[]): Steps<void> {
  const inserted: readonly (readonly Param[])[] = rows;
  yield* each(INSERT_EVENT, inserted);
  if (head.push === 1) yield* owe(rows);
}

/** The same; two at once, which is what most turns begin and end with, is one statement. */
export function* insertTurnEvents(head: Telling, rows: readonly LogRow[]): Steps<void> {
  if (rows.length !== 2) return yield* insertEvents(head, rows);
  yield* first(INSERT_TWO_EVENTS, ...rows.flat());
  if (head.push === 1) yield* owe(rows);
}

function* owe(rows: readonly LogRow[]): Steps<void> {
  const [from, to] = [rows[0], rows.at(-1)];
  if (!from || !to) return;
  yield* first(OWE, from[1], to[1], from[0]);
  yield* wake(OWED_WORD);
}
