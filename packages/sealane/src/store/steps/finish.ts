import type { NewEvent, Seq } from '#domain';

import type { Result } from '../result.ts';
import type { Instant, RunToken, StoredTask } from '../task-store.ts';
import { commitEvents } from './commit-events.ts';
import { END_RUN, END_TURN } from './heads.sql.ts';
import { LOCK_LANE } from './lanes.sql.ts';
import { releaseLane } from './lanes.ts';
import { refusedRun } from './refused-run.ts';
import { first, type Steps, wake } from './step.ts';
import { viewOfRow } from './task-view.ts';

/** Writes the last events of a turn. With `release`, the same step frees the lane. */
export function* finish(
  run: RunToken,
  events: readonly NewEvent[],
  at: Instant,
  release: boolean,
  isAwaited: boolean | null = true,
): Steps<Result<{ readonly seq: Seq; readonly task?: StoredTask }>> {
  yield* first(LOCK_LANE, run.lane);
  const committed = yield* commitEvents({
    task: run.task,
    from: 'working',
    events,
    at,
    fold: 'turn',
    advance: ({ count, length, ended }) =>
      first(release ? END_TURN : END_RUN, count, length, ended, run.task, run.epoch, answersCancel(events) ? 1 : 0),
  });
  if (!committed?.row) return yield* refusedRun(run);
  if (release) yield* releaseLane(run.lane);
  yield* wake(run.taskId);
  const { seq } = committed.head;
  return { ok: true, value: isAwaited === false ? { seq } : { seq, task: viewOfRow(committed.row) } };
}

const answersCancel = (events: readonly NewEvent[]): boolean =>
  events.some((event) => event.kind === 'turn-ended' && event.state === 'canceled');
