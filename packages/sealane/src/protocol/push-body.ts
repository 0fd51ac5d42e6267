import { type Event, isSettled } from '#domain';
import type { PushConfig } from '#engine';
import type { StoredTask } from '#store';

import { encodeEvent } from './event-encoder.ts';
import { encodeV01Task, V01 } from './v01/v01-encoder.ts';
import { encodeV03Task, V03 } from './v03/v03-encoder.ts';

export interface PushBody {
  readonly body: string;
  readonly contentType: string;
}

/**
 * What a webhook is sent for an event, in the dialect that it was registered in; undefined when it is sent nothing. 1.0
 * sends each event as it is. Older dialects send the whole task, so they hear of it only when its state has changed.
 */
export const encodePushBody = (config: PushConfig, event: Event, task: StoredTask): PushBody | undefined => {
  if (config.dialect !== V03 && config.dialect !== V01) {
    return { body: encodeEvent(event, task), contentType: 'application/a2a+json' };
  }
  if (!isTurningPoint(event)) return undefined;
  const body = config.dialect === V03 ? encodeV03Task(task) : encodeV01Task(task, config.taskName ?? task.id, 0);
  return { body, contentType: 'application/json' };
};

/** The state is another one after this event, or the turn has ended. */
const isTurningPoint = ({ event }: Event): boolean => {
  switch (event.kind) {
    case 'task-admitted':
    case 'turn-ended':
    case 'task-put':
      return true;
    // An answer leads on from the question; what is said to a working agent changes nothing that we can tell apart.
    case 'message-received':
      return true;
    case 'run-started':
      return event.attempt === 1;
    case 'status-reported':
      return isSettled(event.state);
    case 'artifact-added':
    case 'cancel-requested':
    case 'run-lost':
      return false;
  }
};
