/**
 * The domain: what a task is, which events can change it, and how events fold into its state. It is pure: no clock, no
 * randomness, no I/O, no packages, and no imports from other modules. Start with `state.ts` (the table of states), then
 * `event.ts` and `task.ts`.
 */
export { standardBase64 } from './base64.ts';
export { BriefMap } from './brief-map.ts';
export type { Event, EventKind, NewEvent, Seq } from './event.ts';
export type { EventClass, SeqRange } from './event-class.ts';
export { EVENT_CLASSES, eventsOfClass, rangeOfClass } from './event-class.ts';
export type { Artifact, Json, JsonObject, Message, Part, Role } from './message.ts';
export { textOf } from './message.ts';
export { onOneLine } from './on-one-line.ts';
export { runIdOf } from './run-id.ts';
export type { ErrorCode, ErrorDetails } from './sealane-error.ts';
export { SealaneError } from './sealane-error.ts';
export type { State } from './state.ts';
export {
  canMove,
  isInterrupted,
  isSettled,
  isTerminal,
  OPEN_STATES,
  STATES,
  TERMINAL_STATES,
  TRANSITIONS,
} from './state.ts';
export type { TaskSnapshot } from './task-snapshot.ts';
export { fold } from './task.ts';
