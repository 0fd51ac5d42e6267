import type { Event } from '#domain';
import { encodeTask, type TaskView } from '#protocol';
import type { StoredTask } from '#store';

/** A task as the operator sees it: the A2A task, and what callers are not told. */
export const encodeTaskView = (task: StoredTask, artifacts: NonNullable<TaskView['artifacts']> = 'present'): string => {
  const { owner, tenant, agent, lane, createdAt, updatedAt, seq: lastSeq, direct } = task;
  const rest = JSON.stringify({ owner, tenant, agent, lane, createdAt, updatedAt, lastSeq, direct });
  return `{"task":${encodeTask(task, { artifacts })},${rest.slice(1)}`;
};

export const encodeAdminEvent = ({ seq, at, event }: Event): string => JSON.stringify({ seq, at, ...event });
