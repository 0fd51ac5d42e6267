import type { Artifact, JsonObject, Message, State } from '#domain';

/** The parts of A2A 1.0 JSON that the command line reads. */
export interface WireStatus {
  readonly state: string;
  readonly message?: Message;
  readonly timestamp?: string;
}

export interface WireTask {
  readonly id: string;
  readonly contextId?: string;
  readonly status: WireStatus;
  readonly artifacts?: readonly Artifact[];
  readonly history?: readonly Message[];
  readonly metadata?: JsonObject;
}

export interface StreamResponse {
  readonly task?: WireTask;
  readonly message?: Message;
  readonly statusUpdate?: {
    readonly taskId: string;
    readonly contextId?: string;
    readonly status: WireStatus;
    readonly metadata?: JsonObject;
  };
  readonly artifactUpdate?: {
    readonly taskId: string;
    readonly contextId?: string;
    readonly artifact: Artifact;
    readonly append?: boolean;
    readonly lastChunk?: boolean;
  };
}

/** `TASK_STATE_INPUT_REQUIRED` → `input-required` */
export const stateOf = (status: WireStatus): State =>
  status.state
    .replace(/^TASK_STATE_/, '')
    .toLowerCase()
    .replaceAll('_', '-') as State;

/** A task as the admin API shows it. */
export interface TaskView {
  readonly task: WireTask;
  readonly owner: string;
  readonly tenant: string;
  readonly agent: string;
  readonly lane: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly lastSeq: number;
  readonly direct: boolean;
}
