import type { Artifact, Event, JsonObject, Message } from '#domain';
import type { TaskIdentity } from '#engine';
import type { StoredTask } from '#store';

import { encodeEvent } from '../event-encoder.ts';
import { encodeTask, type TaskView } from '../task-encoder.ts';

/**
 * A2A 1.0 JSON as values. Older dialects are translations of it, so that what a task shows (cut histories, places in
 * the queue, reasons in metadata) is decided once.
 */
export interface CoreTask {
  readonly id: string;
  readonly contextId: string;
  readonly status: CoreStatus;
  readonly artifacts?: readonly Artifact[];
  readonly history?: readonly Message[];
  readonly metadata?: JsonObject;
}

export interface CoreStatus {
  readonly state: string;
  readonly message?: Message;
  readonly timestamp: string;
}

export type CoreUpdate =
  | { readonly statusUpdate: CoreStatusUpdate; readonly artifactUpdate?: undefined }
  | { readonly artifactUpdate: CoreArtifactUpdate; readonly statusUpdate?: undefined };

export interface CoreStatusUpdate {
  readonly status: CoreStatus;
  readonly metadata?: JsonObject;
}

export interface CoreArtifactUpdate {
  readonly artifact: Artifact;
  readonly append?: boolean;
  readonly lastChunk?: boolean;
  readonly metadata?: JsonObject;
}

export const coreTaskOf = (task: StoredTask, view: TaskView): CoreTask =>
  JSON.parse(encodeTask(task, view)) as CoreTask;

export const coreUpdateOf = (event: Event, task: TaskIdentity): CoreUpdate =>
  JSON.parse(encodeEvent(event, task)) as CoreUpdate;
