import type { JsonObject, NewEvent } from '#domain';
import type { FinishedRun, Result, RunToken, TaskStore } from '#store';

import type { Feed } from '../feed/feed.ts';
import { insist } from '../insist.ts';
import type { EngineObserver } from '../observer.ts';

/**
 * Writes the events of runs. It retries while the disk is full or the database is unreachable: work of an agent is never
 * thrown away because it could not be written at once. It publishes events after their commit, never before.
 */
export interface Persist {
  /** `undefined`: the events are written. Otherwise the run must stop. */
  append(token: RunToken, events: readonly NewEvent[]): Promise<'lost' | 'terminal' | undefined>;
  finish(token: RunToken, events: readonly NewEvent[], release: boolean): Promise<Result<FinishedRun>>;
  release(token: RunToken, retryAt?: number, isDrain?: boolean): Promise<Result<null>>;
  remember(token: RunToken, ref: JsonObject): Promise<Result<null>>;
}

export const createPersist = (options: {
  readonly store: TaskStore;
  readonly feed: Feed;
  readonly now: () => number;
  readonly observer: EngineObserver;
  /** Ends the retries when the service stops. */
  readonly signal: AbortSignal;
}): Persist => {
  const { store, feed, now, observer, signal } = options;

  const write = <T>(what: string, { taskId }: RunToken, attempt: () => Promise<T>): Promise<T> =>
    insist(attempt, {
      signal,
      onProblem: (error) => observer.problem?.(`${what} could not be written yet, trying again`, error, { taskId }),
    });

  return {
    append: async (token, events) => {
      const startedAt = performance.now();
      const result = await write('An event', token, () => store.append(token, events, now()));
      if (!result.ok) return result.why === 'terminal' ? 'terminal' : 'lost';
      observer.appended?.({ events: events.length, lagMs: performance.now() - startedAt });
      feed.publish(token.taskId, result.value.events);
      return undefined;
    },
    finish: async (token, events, release) => {
      const startedAt = performance.now();
      const result = await write('The end of a task', token, () =>
        store.finish(token, events, now(), release, feed.isAwaited(token.taskId)),
      );
      if (result.ok) {
        observer.appended?.({ events: events.length, lagMs: performance.now() - startedAt });
        feed.publish(token.taskId, result.value.events, result.value.task);
      }
      return result;
    },
    release: (token, retryAt, isDrain) =>
      write('The release of a lane', token, () => store.release(token, now(), retryAt, isDrain)),
    remember: (token, ref) => write('A reference', token, () => store.remember(token, ref)),
  };
};
