import type { Event, Seq } from './event.ts';
import { isTerminal, type State } from './state.ts';

/** Which events of its subject a follower handles: each of them, those that change the state, or the one that ends it. */
export type EventClass = 'every' | 'state' | 'end';

export const EVENT_CLASSES: readonly EventClass[] = ['every', 'state', 'end'];

export interface SeqRange {
  readonly first: Seq;
  readonly last: Seq;
}

/** Of these events of a task, those of a class. `before` is the state that the task had before them, if it had one. */
export const eventsOfClass = (
  eventClass: EventClass,
  before: State | undefined,
  events: readonly Event[],
): readonly Event[] => {
  if (eventClass === 'every') return events;
  let state = before;
  return events.filter(({ event }) => {
    if (event.kind === 'artifact-added') return false;
    const isNews = event.state !== state;
    state = event.state;
    return isNews && (eventClass === 'state' || isTerminal(state));
  });
};

/** From the first to the last of the events of a class; undefined where there is none. */
export const rangeOfClass = (
  eventClass: EventClass,
  before: State | undefined,
  events: readonly Event[],
): SeqRange | undefined => {
  const own = eventsOfClass(eventClass, before, events);
  const [first, last] = [own[0], own.at(-1)];
  return first && last && { first: first.seq, last: last.seq };
};
