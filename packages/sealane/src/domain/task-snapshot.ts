import type { Artifact, JsonObject, Message } from './message.ts';
import type { State } from './state.ts';

/** What a task looks like after its events so far: everything about it that events can change. */
export interface TaskSnapshot {
  readonly state: State;
  readonly statusMessage?: Message;
  readonly statusAt: string;
  readonly artifacts: readonly Artifact[];
  readonly history: readonly Message[];
  readonly metadata: JsonObject;
}
