import type { Event, NewEvent } from '#domain';

import type { Instant } from '../task-store.ts';

/** A row of the log, without its task. */
export interface EventRow {
  readonly seq: number;
  readonly at: number;
  readonly data: string;
}

let lastAt = 0;
let lastIso = new Date(0).toISOString();

/** Keeps the last text: most calls of a batch are of the same millisecond, and formatting a date is not free. */
export const isoOf = (at: Instant): string => {
  if (at !== lastAt) {
    lastIso = new Date(at).toISOString();
    lastAt = at;
  }
  return lastIso;
};

/**
 * The text of an event in the log. The kind comes first, so that a statement recognises a chunk by its first
 * characters.
 */
export const textOfEvent = (event: NewEvent): string => {
  const [first] = Object.keys(event);
  return JSON.stringify(first === 'kind' ? event : Object.assign({ kind: event.kind }, event));
};

/** How the text of a chunk begins. */
export const CHUNK_TEXT = '{"kind":"artifact-added"';

/** Events as their readers get them, numbered from `first` on. */
export const numbered = (first: number, events: readonly NewEvent[], at: Instant): readonly Event[] => {
  const iso = isoOf(at);
  return events.map((event, index) => ({ seq: first + index, at: iso, event }));
};

export const eventOf = ({ seq, at, data }: EventRow): Event => ({
  seq,
  at: isoOf(at),
  event: JSON.parse(data) as NewEvent,
});
