import type { Event, NewEvent } from '#domain';

import type { StoredTask } from '../task-store.ts';

/**
 * The commonest turn of all, artifacts in one piece and an end, for those who know the task as it was admitted: JSON text
 * is put behind JSON text, where anything else is folded.
 */
export const isSpliceable = (events: readonly NewEvent[]): boolean => {
  const end = events.at(-1);
  if (end?.kind !== 'turn-ended' || end.reason !== undefined || end.forced || end.metadata) return false;
  const ids = new Set<string>();
  for (const event of events.slice(0, -1)) {
    if (event.kind !== 'artifact-added' || ids.has(event.artifact.artifactId)) return false;
    ids.add(event.artifact.artifactId);
  }
  return true;
};

/** The task after such a turn. */
export const spliced = (task: StoredTask, news: readonly Event[]): StoredTask => {
  const end = news.at(-1);
  if (end?.event.kind !== 'turn-ended') return task;
  const message = end.event.message ? JSON.stringify(end.event.message) : null;
  const artifacts: string[] = [];
  for (const { event } of news) if (event.kind === 'artifact-added') artifacts.push(JSON.stringify(event.artifact));
  return {
    ...task,
    state: end.event.state,
    statusMessage: message,
    statusAt: end.at,
    updatedAt: end.at,
    artifacts: `[${artifacts.join(',')}]`,
    history: message === null ? task.history : `${task.history.slice(0, -1)},${message}]`,
    seq: end.seq,
  };
};
