import { type Artifact, type Event, isTerminal, type State } from '#domain';
import type { StreamItem, TaskIdentity } from '#engine';
import type { Page, StoredTask } from '#store';

import { stateOf } from '../state-names.ts';
import type { TaskView } from '../task-encoder.ts';
import { type CoreStatus, coreTaskOf, coreUpdateOf } from './core-json.ts';
import { taggedPartOf } from './tagged-part.ts';
import { v03MessageOf } from './v03-message.ts';

/** The dialect's name on tasks and webhooks; 0.2 has the same JSON. */
export const V03 = '0.3';

/** A task as 0.3 JSON text. */
export const encodeV03Task = (task: StoredTask, view: TaskView = {}): string => {
  const { status, artifacts, history, ...rest } = coreTaskOf(task, view);
  return JSON.stringify({
    kind: 'task',
    ...rest,
    status: statusOf(status),
    ...(artifacts && { artifacts: artifacts.map(artifactOf) }),
    ...(history && { history: history.map(v03MessageOf) }),
  });
};

const statusOf = ({ state, message, timestamp }: CoreStatus): object => ({
  state: stateOf(state) ?? 'unknown',
  ...(message && { message: v03MessageOf(message) }),
  timestamp,
});

const artifactOf = ({ parts, ...rest }: Artifact): object => ({
  ...rest,
  parts: parts.map((part) => taggedPartOf(part, 'kind')),
});

/** What `tasks/list` answers; 0.3 has it on other bindings only, so its JSON is that of 1.0 around tasks of 0.3. */
export const encodeV03Page = (page: Page, { pageSize, ...view }: TaskView & { readonly pageSize: number }): string => {
  const tasks = page.tasks.map((task) => encodeV03Task(task, view)).join(',');
  return `{"tasks":[${tasks}],"nextPageToken":${JSON.stringify(page.next ?? '')},"pageSize":${pageSize},"totalSize":${page.total}}`;
};

/** What ends a stream: a sent message's ends when the agent asks something, a subscription's with the task. */
export type StreamKind = 'send' | 'subscribe';

export const isClosing = (state: State, kind: StreamKind): boolean =>
  isTerminal(state) || (kind === 'send' && state === 'input-required');

/**
 * One item of a stream as 0.3 JSON. Readers share the text of an event; streams of the two kinds differ only in which
 * event is the final one, so there are at most two texts of each.
 */
export const encodeV03StreamItem = (item: StreamItem, kind: StreamKind, historyLength?: number): string => {
  if (item.kind === 'task') return encodeV03Task(item.task, { historyLength });
  if (item.kind === 'message') return JSON.stringify(v03MessageOf(item.message));
  const { event } = item.event;
  const isFinal = event.kind !== 'artifact-added' && isClosing(event.state, kind);
  const key = isFinal ? `${V03} final` : V03;
  let frame = item.frames.get(key);
  if (frame === undefined) {
    frame = encodeV03Event(item.event, item.task, isFinal);
    item.frames.set(key, frame);
  }
  return frame;
};

const encodeV03Event = (event: Event, task: TaskIdentity, isFinal: boolean): string => {
  const names = { taskId: task.id, contextId: task.contextId };
  const { statusUpdate, artifactUpdate } = coreUpdateOf(event, task);
  if (artifactUpdate) {
    const artifact = artifactOf(artifactUpdate.artifact);
    return JSON.stringify({ kind: 'artifact-update', ...names, ...artifactUpdate, artifact });
  }
  const status = statusOf(statusUpdate.status);
  const { metadata } = statusUpdate;
  return JSON.stringify({ kind: 'status-update', ...names, status, final: isFinal, ...(metadata && { metadata }) });
};
