import type { Event, JsonObject, Message, NewEvent } from '#domain';
import type { StreamItem, TaskIdentity } from '#engine';

import { STATE_NAMES } from './state-names.ts';
import { encodeTask } from './task-encoder.ts';

/** The dialect's key in an event's `FrameCache`. */
export const DIALECT = '1.0';

/** One item of a stream as a StreamResponse. An event is encoded once, for all its readers. */
export const encodeStreamItem = (item: StreamItem, historyLength?: number): string => {
  if (item.kind === 'task') return `{"task":${encodeTask(item.task, { historyLength })}}`;
  if (item.kind === 'message') return `{"message":${JSON.stringify(item.message)}}`;
  let frame = item.frames.get(DIALECT);
  if (frame === undefined) {
    frame = encodeEvent(item.event, item.task);
    item.frames.set(DIALECT, frame);
  }
  return frame;
};

/**
 * Every event has exactly one frame, so that the numbers of a stream have no holes: a chunk is an artifact update, all
 * else is a status update, and what A2A has no member for goes into its metadata.
 */
export const encodeEvent = ({ at, event }: Event, task: TaskIdentity): string => {
  const { id: taskId, contextId } = task;
  if (event.kind === 'artifact-added') {
    const { artifact, append, lastChunk, metadata } = event;
    return JSON.stringify({
      artifactUpdate: {
        taskId,
        contextId,
        artifact,
        ...(append && { append }),
        ...(lastChunk && { lastChunk }),
        ...(metadata && { metadata }),
      },
    });
  }
  const message = messageOf(event);
  const metadata = metadataOf(event);
  return JSON.stringify({
    statusUpdate: {
      taskId,
      contextId,
      status: { state: STATE_NAMES[event.state], ...(message && { message }), timestamp: at },
      ...(metadata && Object.keys(metadata).length > 0 && { metadata }),
    },
  });
};

type StatusEvent = Exclude<NewEvent, { readonly kind: 'artifact-added' }>;

/** Only agents speak in a status; what the caller said is in the history. */
const messageOf = (event: StatusEvent): Message | undefined => {
  if (event.kind === 'status-reported' || event.kind === 'turn-ended') return event.message;
  return event.kind === 'task-put' ? event.snapshot.statusMessage : undefined;
};

const metadataOf = (event: StatusEvent): JsonObject | undefined => {
  switch (event.kind) {
    case 'task-admitted':
    case 'message-received':
      return {
        ...(event.queuedAt !== undefined && { queuedAt: event.queuedAt }),
        ...(event.queuePosition !== undefined && { queuePosition: event.queuePosition }),
      };
    case 'run-started':
      return { attempt: event.attempt };
    case 'run-lost':
      return { attempt: event.attempt, retry: event.retry };
    case 'cancel-requested':
      return { cancelRequested: true };
    case 'status-reported':
      return event.metadata;
    case 'turn-ended':
      return {
        ...event.metadata,
        ...(event.reason !== undefined && { reason: event.reason }),
        ...(event.forced && { forced: true }),
      };
    case 'task-put':
      break;
  }
  return undefined;
};
