import type { NewEvent } from '#domain';
import type { StoredTask, TaskStore, Upkeep } from '#store';

import type { Feed } from './feed.ts';
import type { EngineSettings } from './settings.ts';

/** Small batches: cleaning up never holds up anybody's commit for long. */
const BATCH = 100;

/**
 * Ends what has waited too long, in a lane or for its caller, and deletes what ended long ago. Every instance does it;
 * each step decides under its own lock, so two that meet do no harm.
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

  const endOf = (id: string, why: 'queued' | 'interrupted'): NewEvent => ({
    kind: 'turn-ended',
    state: 'failed',
    reason: why === 'queued' ? 'queue-timeout' : 'input-timeout',
    message: {
      messageId: options.newId(),
      role: 'ROLE_AGENT',
      taskId: id,
      parts: [
        { text: why === 'queued' ? 'The task waited too long for its turn.' : 'Nobody answered the question in time.' },
      ],
    },
  });

  const endOverdue = async (): Promise<void> => {
    const overdue = await upkeep.overdue({
      queuedBefore: now() - settings.queueTimeoutMs,
      interruptedBefore: now() - settings.inputTimeoutMs,
      limit: BATCH,
    });
    for (const { id, why } of overdue) {
      const from = why === 'queued' ? (['submitted'] as const) : (['input-required', 'auth-required'] as const);
      const result = await store.force(id, from, endOf(id, why), now());
      if (!result.ok) continue;
      const { task, events } = result.value;
      feed.publish(id, events, task);
      options.onEnded(task, why === 'queued' ? 'queue-timeout' : 'input-timeout');
    }
  };

  const sweep = async (): Promise<void> => {
    if (isSweeping) return;
    isSweeping = true;
    try {
      await endOverdue();
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
