import type { Event, Seq } from '#domain';

import type { Scope, StoredTask, TaskId } from '../task-store.ts';
import { eventOf, rowsAfter } from './event-log.ts';
import type { Steps } from './step.ts';
import { loadTask, visibleTask } from './task-row.ts';

/** The task and the number of its last event, from one snapshot of the database. */
export function* find(scope: Scope, id: TaskId): Steps<StoredTask | undefined> {
  const row = yield* visibleTask(scope, id);
  return row && (yield* loadTask(row));
}

export function* read(scope: Scope, id: TaskId, after: Seq, limit: number): Steps<readonly Event[]> {
  const row = yield* visibleTask(scope, id);
  return row ? (yield* rowsAfter(row.k, after, limit)).map(eventOf) : [];
}
