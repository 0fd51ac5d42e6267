import type { JsonObject, Message } from '#domain';
import type { Page, StoredTask } from '#store';

import { STATE_NAMES } from './state-names.ts';

export interface TaskView {
  /** At most so many of the newest messages; undefined is all, 0 leaves the history out. */
  readonly historyLength?: number | undefined;
  /**
   * `present` (the default) leaves an empty list out, as ProtoJSON does; `always` shows it even when empty, and
   * `never` hides it: the two that ListTasks needs.
   */
  readonly artifacts?: 'present' | 'always' | 'never';
}

/**
 * A task as A2A 1.0 JSON. What clients and agents wrote is JSON text in the store and is spliced in unread; it is
 * parsed only where a history must be cut.
 */
export const encodeTask = (task: StoredTask, { historyLength, artifacts = 'present' }: TaskView = {}): string => {
  let text = `{"id":${JSON.stringify(task.id)},"contextId":${JSON.stringify(task.contextId)},"status":{"state":"${STATE_NAMES[task.state]}"`;
  if (task.statusMessage !== null) text += `,"message":${task.statusMessage}`;
  text += `,"timestamp":"${task.statusAt}"}`;
  if (artifacts === 'always' || (artifacts === 'present' && task.artifacts !== '[]'))
    text += `,"artifacts":${task.artifacts}`;
  const history = cutHistory(task.history, historyLength);
  if (history !== '[]') text += `,"history":${history}`;
  const metadata = metadataOf(task);
  if (metadata !== '{}') text += `,"metadata":${metadata}`;
  return `${text}}`;
};

const cutHistory = (history: string, length: number | undefined): string => {
  if (length === undefined || history === '[]') return history;
  if (length === 0) return '[]';
  const messages = JSON.parse(history) as readonly Message[];
  return messages.length <= length ? history : JSON.stringify(messages.slice(-length));
};

/** A waiting task shows since when it waits and behind how many turns. */
const metadataOf = ({ metadata, queuedAt, queuePosition }: StoredTask): string => {
  if (queuedAt === undefined && queuePosition === undefined) return metadata;
  const place = {
    ...(queuedAt !== undefined && { queuedAt }),
    ...(queuePosition !== undefined && { queuePosition }),
  };
  if (metadata === '{}') return JSON.stringify(place);
  // A caller's own keys of these names would make the object ambiguous; then it is worth parsing.
  if (metadata.includes('"queuedAt"') || metadata.includes('"queuePosition"')) {
    return JSON.stringify({ ...(JSON.parse(metadata) as JsonObject), ...place });
  }
  return `${metadata.slice(0, -1)},${JSON.stringify(place).slice(1)}`;
};

/** ListTasksResponse: all four members are always there. */
export const encodePage = (page: Page, { pageSize, ...view }: TaskView & { readonly pageSize: number }): string => {
  const tasks = page.tasks.map((task) => encodeTask(task, view)).join(',');
  return `{"tasks":[${tasks}],"nextPageToken":${JSON.stringify(page.next ?? '')},"pageSize":${pageSize},"totalSize":${page.total}}`;
};
