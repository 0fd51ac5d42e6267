import { type Event, EVENT_CLASSES, type EventClass, rangeOfClass, type State } from '#domain';

import type { Subject } from '../follower.ts';
import { OWE } from './outbox.sql.ts';
import { first, OWED_WORD, type Steps, wake } from './step.ts';

/** The bit of each class of events, in a follower's row and in the mask of its subject. */
export const CLASS_BITS: Readonly<Record<EventClass, number>> = { every: 1, state: 2, end: 4 };

/**
 * Extends what is owed to the followers of a subject, for each class of events that one of them asks for. `follows` is
 * the mask of these classes: a chunk costs nothing if no follower asks for every event.
 */
export function* owe(
  { type, key }: Subject,
  follows: number,
  before: State | undefined,
  events: readonly Event[],
): Steps<void> {
  let isOwed = false;
  for (const eventClass of EVENT_CLASSES) {
    const bit = CLASS_BITS[eventClass];
    const range = (follows & bit) === 0 ? undefined : rangeOfClass(eventClass, before, events);
    if (!range) continue;
    yield* first(OWE, range.first, range.last, type, key, bit);
    isOwed = true;
  }
  if (isOwed) yield* wake(OWED_WORD);
}
