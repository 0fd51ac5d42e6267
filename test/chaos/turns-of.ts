import { type Event, type Message, textOf } from '#domain';

/** One turn of a task as its log tells it. */
export interface LoggedTurn {
  readonly number: number;
  readonly order: string;
  /** Events from the turn's message up to the next turn's. */
  readonly events: readonly Event[];
  readonly attempts: readonly LoggedAttempt[];
  readonly end: Event | undefined;
}

export interface LoggedAttempt {
  readonly attempt: number;
  readonly startedAt: string;
  /** The first is the run's start. */
  readonly events: readonly Event[];
}

/** The agent of these tests never asks from inside a live run, so every message begins a turn. */
export const turnsOf = (events: readonly Event[]): readonly LoggedTurn[] => {
  const turns: { message: Message; events: Event[] }[] = [];
  for (const event of events) {
    const fact = event.event;
    if (fact.kind === 'task-admitted' || fact.kind === 'message-received') {
      turns.push({ message: fact.message, events: [] });
    }
    turns.at(-1)?.events.push(event);
  }
  return turns.map(({ message, events: own }, index) => ({
    number: index + 1,
    order: textOf(message.parts).split(' ')[0] ?? '',
    events: own,
    attempts: attemptsOf(own),
    end: own.find(({ event }) => event.kind === 'turn-ended'),
  }));
};

const attemptsOf = (events: readonly Event[]): readonly LoggedAttempt[] => {
  const attempts: { attempt: number; startedAt: string; events: Event[] }[] = [];
  for (const event of events) {
    if (event.event.kind === 'run-started') {
      attempts.push({ attempt: event.event.attempt, startedAt: event.at, events: [] });
    }
    attempts.at(-1)?.events.push(event);
  }
  return attempts;
};
