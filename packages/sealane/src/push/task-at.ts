import { type Event, fold, type TaskSnapshot } from '#domain';
import { logPages } from '#engine';
import type { StoredTask, TaskId, TaskStore } from '#store';

/**
 * A task as it was after one of its events. The latest state is stored; an earlier one is folded from the log. So a
 * receiver that gets whole tasks sees each state once, however late the delivery is.
 */
export const taskAt = async (
  tasks: Pick<TaskStore, 'find' | 'read'>,
  id: TaskId,
  seq: number,
): Promise<StoredTask | undefined> => {
  const task = await tasks.find('all', id);
  if (!task || task.seq <= seq) return task;
  let snapshot: TaskSnapshot | undefined;
  let last: Event | undefined;
  for await (const page of logPages(tasks, 'all', id, { after: 0, last: seq })) {
    snapshot = fold(snapshot, page);
    last = page.at(-1);
  }
  // The task was deleted in the meantime.
  if (!snapshot || last?.seq !== seq) return undefined;
  const { queuePosition: _position, queuedAt: _queuedAt, ...rest } = task;
  const { state, statusAt, statusMessage, artifacts, history, metadata } = snapshot;
  return {
    ...rest,
    state,
    statusAt,
    statusMessage: statusMessage ? JSON.stringify(statusMessage) : null,
    updatedAt: last.at,
    artifacts: JSON.stringify(artifacts),
    history: JSON.stringify(history),
    metadata: JSON.stringify(metadata),
    seq,
  };
};
