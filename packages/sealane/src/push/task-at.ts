import { type Event, fold } from '#domain';
import type { StoredTask, TaskId, TaskStore } from '#store';

const PAGE = 500;

/**
 * A task as it was after one of its events. The latest is at hand; an earlier one is folded from the log, so that a
 * receiver that gets whole tasks sees each state once, however late it is told.
 */
export const taskAt = async (
  tasks: Pick<TaskStore, 'find' | 'read'>,
  id: TaskId,
  seq: number,
): Promise<StoredTask | undefined> => {
  const task = await tasks.find('all', id);
  if (!task || task.seq <= seq) return task;
  const log: Event[] = [];
  while (log.length < seq) {
    const page = await tasks.read('all', id, log.length, Math.min(PAGE, seq - log.length));
    if (page.length === 0) return undefined;
    log.push(...page);
  }
  const { queuePosition: _position, queuedAt: _queuedAt, ...rest } = task;
  const { state, statusAt, statusMessage, artifacts, history, metadata } = fold(undefined, log);
  return {
    ...rest,
    state,
    statusAt,
    statusMessage: statusMessage ? JSON.stringify(statusMessage) : null,
    updatedAt: log.at(-1)?.at ?? task.updatedAt,
    artifacts: JSON.stringify(artifacts),
    history: JSON.stringify(history),
    metadata: JSON.stringify(metadata),
    seq,
  };
};
