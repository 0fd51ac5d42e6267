import type { Artifact, JsonObject, Message } from './message.ts';
import type { State } from './state.ts';
import type { TaskSnapshot } from './task-snapshot.ts';

/** The number of an event within its task, from 1, without gaps. It is a stream's cursor. */
export type Seq = number;

/**
 * A fact about a task. Every event but `artifact-added` names the state that holds after it, so one event can be shown
 * to a client without its predecessors.
 */
export type NewEvent =
  | {
      readonly kind: 'task-admitted';
      readonly state: 'submitted';
      readonly message: Message;
      readonly metadata?: JsonObject;
      /** Epoch milliseconds; only when the task had to wait for its lane. */
      readonly queuedAt?: number;
      /** Turns ahead of it in the lane when it was admitted. */
      readonly queuePosition?: number;
    }
  /** A follow-up: the next turn of an open task, or an answer to (or steering of) its live run. */
  | {
      readonly kind: 'message-received';
      readonly state: State;
      readonly message: Message;
      readonly queuedAt?: number;
      readonly queuePosition?: number;
    }
  | { readonly kind: 'run-started'; readonly state: 'working'; readonly attempt: number }
  /** What an agent says while it works: a progress text, or a question that its live run waits on. */
  | {
      readonly kind: 'status-reported';
      readonly state: State;
      readonly message?: Message;
      readonly metadata?: JsonObject;
    }
  | {
      readonly kind: 'artifact-added';
      readonly artifact: Artifact;
      readonly append?: boolean;
      readonly lastChunk?: boolean;
      readonly metadata?: JsonObject;
    }
  | { readonly kind: 'cancel-requested'; readonly state: State; readonly by: string }
  /** The run's instance died or lost its lease; `retry` says whether another attempt follows. */
  | { readonly kind: 'run-lost'; readonly state: State; readonly attempt: number; readonly retry: boolean }
  | {
      readonly kind: 'turn-ended';
      readonly state: State;
      readonly message?: Message;
      /** Why a turn did not end as its agent wished: `timeout`, `interrupted`, `canceled`, … */
      readonly reason?: string;
      /** The task ended before its run was confirmed dead. */
      readonly forced?: boolean;
      readonly metadata?: JsonObject;
    }
  /** Somebody wrote the whole task through one of the store's views. */
  | { readonly kind: 'task-put'; readonly state: State; readonly snapshot: TaskSnapshot };

export type EventKind = NewEvent['kind'];

/** A committed event. */
export interface Event {
  readonly seq: Seq;
  /** ISO 8601, UTC, milliseconds. */
  readonly at: string;
  readonly event: NewEvent;
}
