import type { NewEvent, State } from '#domain';
import type { Overdue, StoredTask, TaskStore, Upkeep } from '#store';

import type { Feed } from '../feed/feed.ts';
import type { EngineSettings } from '../settings.ts';

/** Small batches, so that a sweep never delays other commits for long. */
const BATCH = 100;

/** How long at least readers on other instances can learn the end of a task that was removed while it was open. */
const REMOVED_MS = 10_000;

/** How overdue tasks end, and the states in which they can still be. */
const TOO_LATE: Readonly<
  Record<Overdue['why'], { readonly from: readonly State[]; readonly reason: string; readonly words: string }>
> = {
  queued: { from: ['submitted'], reason: 'queue-timeout', words: 'The task waited too long for its turn.' },
  retry: { from: ['working'], reason: 'queue-timeout', words: 'The task waited too long to be tried again.' },
  interrupted: {
    from: ['input-required', 'auth-required'],
    reason: 'input-timeout',
    words: 'Nobody answered the question in time.',
  },
};

/**
 * Ends tasks that have waited too long, in a lane or for their caller, and deletes tasks that ended long ago. Every
 * instance has a janitor. Each step decides under its own lock, so two janitors at the same task do no harm.
 */
export const createJanitor = (options: {
  readonly store: TaskStore;
  readonly upkeep: Upkeep;
  readonly feed: Feed;
  readonly settings: EngineSettings;
  readonly now: () => number;
  readonly newId: () => string;
  readonly onEnded: (task: StoredTask, reason: string) => void;
  readonly onProblem: (error: unknown) => void;
}): { start(): void; stop(): void; sweep(): Promise<void> } => {
  const { store, upkeep, feed, settings, now } = options;
  let timer: NodeJS.Timeout | undefined;
  let isSweeping = false;

  const endOf = ({ id, why }: Overdue): NewEvent => ({
    kind: 'turn-ended',
    state: 'failed',
    reason: TOO_LATE[why].reason,
    message: { messageId: options.newId(), role: 'ROLE_AGENT', taskId: id, parts: [{ text: TOO_LATE[why].words }] },
  });

  /** Answers how many tasks it has ended. If it has ended any, there may be more. */
  const endOverdue = async (): Promise<number> => {
    let ended = 0;
    const overdue = await upkeep.overdue({
      queuedBefore: now() - settings.queueTimeoutMs,
      interruptedBefore: now() - settings.inputTimeoutMs,
      limit: BATCH,
    });
    for (const late of overdue) {
      const { id, why } = late;
      const result = await store.force(id, TOO_LATE[why].from, endOf(late), now());
      if (!result.ok) continue;
      ended += 1;
      const { task, events } = result.value;
      feed.publish(id, events, task);
      options.onEnded(task, TOO_LATE[why].reason);
    }
    return ended;
  };

  const sweep = async (): Promise<void> => {
    if (isSweeping) return;
    isSweeping = true;
    try {
      while ((await endOverdue()) > 0) {
        // A lane may hold thousands of tasks that have all waited too long.
      }
      while ((await upkeep.dropRemoved(now() - REMOVED_MS, BATCH)) === BATCH) {
        // the next batch
      }
      if (settings.ttlMs > 0) {
        while ((await upkeep.expire(now() - settings.ttlMs, BATCH)) === BATCH) {
          // the next batch; others get their commits in between
        }
      }
    } catch (error) {
      options.onProblem(error);
    } finally {
      isSweeping = false;
    }
  };

  return {
    sweep,
    start: () => {
      timer = setInterval(() => void sweep(), settings.janitorMs);
      timer.unref();
      void sweep();
    },
    stop: () => clearInterval(timer),
  };
};
