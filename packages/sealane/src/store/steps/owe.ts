import { type Event, EVENT_CLASSES, type EventClass, rangeOfClass, type State } from '#domain';

import type { Subject } from '../follower.ts';
import { OWE } from './outbox.sql.ts';
import { first, OWED_WORD, type Steps, wake } from './step.ts';

/** The classes of events as a follower's row and the mask of its subject have them. */
export const CLASS_BITS: Readonly<Record<EventClass, number>> = { every: 1, state: 2, end: 4 };

/**
 * Makes longer what the followers of a subject are owed, for each class of events that one of them asks for. `follows` is
 * the subject's mask of these classes: a chunk costs nothing where only ends are followed.
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
