import type { Artifact, JsonObject, Message, State, TaskSnapshot } from '#domain';
import type { StoredTask } from '#store';

/** A task as the views show it: plain A2A with states in lower case. */
export interface ViewTask {
  readonly id: string;
  readonly contextId: string;
  readonly kind: 'task';
  readonly status: { readonly state: State; readonly message?: Message; readonly timestamp: string };
  readonly artifacts: readonly Artifact[];
  readonly history: readonly Message[];
  readonly metadata: JsonObject;
}

/** What callers may give: everything but the id can be missing. */
export interface TaskInput {
  readonly id: string;
  readonly contextId?: string;
  readonly status?: { readonly state?: State; readonly message?: Message | string | null; readonly timestamp?: string };
  readonly artifacts?: readonly Artifact[];
  readonly history?: readonly Message[];
  readonly metadata?: JsonObject;
}

export const viewOf = (task: StoredTask): ViewTask => ({
  id: task.id,
  contextId: task.contextId,
  kind: 'task',
  status: {
    state: task.state,
    timestamp: task.statusAt,
    ...(task.statusMessage !== null && { message: JSON.parse(task.statusMessage) as Message }),
  },
  artifacts: JSON.parse(task.artifacts) as Artifact[],
  history: JSON.parse(task.history) as Message[],
  metadata: {
    ...(JSON.parse(task.metadata) as JsonObject),
    ...(task.queuedAt !== undefined && { queuedAt: task.queuedAt }),
    ...(task.queuePosition !== undefined && { queuePosition: task.queuePosition }),
  },
});

export const snapshotFrom = (task: TaskInput, at: number): TaskSnapshot => {
  const message = messageOf(task);
  return {
    state: task.status?.state ?? 'submitted',
    statusAt: task.status?.timestamp ?? new Date(at).toISOString(),
    artifacts: task.artifacts ?? [],
    history: task.history ?? [],
    metadata: task.metadata ?? {},
    ...(message && { statusMessage: message }),
  };
};

/** Some callers give a status message as a plain text. */
const messageOf = ({ id, status }: TaskInput): Message | undefined => {
  const message = status?.message;
  if (message === undefined || message === null) return undefined;
  return typeof message === 'string'
    ? { messageId: `${id}-status`, role: 'ROLE_AGENT', parts: [{ text: message }], taskId: id }
    : message;
};
