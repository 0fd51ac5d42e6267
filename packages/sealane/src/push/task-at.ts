import { type Event, fold, type TaskSnapshot } from '#domain';
import { logPages } from '#engine';
import type { OutboxStore, StoredTask } from '#store';

/**
 * A task as it was after one of its events. The latest state is stored; an earlier one is folded from the log. So a
 * receiver that gets whole tasks sees each state once, however late the delivery is.
 */
export const taskAt = async (
  outbox: Pick<OutboxStore, 'task' | 'log'>,
  follower: number,
  seq: number,
): Promise<StoredTask | undefined> => {
  const task = await outbox.task(follower);
  if (!task || task.seq <= seq) return task;
  let snapshot: TaskSnapshot | undefined;
  let last: Event | undefined;
  const log = {
    read: (_scope: unknown, _id: string, after: number, limit: number) => outbox.log(follower, after, limit),
  };
  for await (const page of logPages(log, 'all', task.id, { after: 0, last: seq })) {
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
