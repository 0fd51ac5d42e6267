import { isTerminal, type NewEvent, type Seq } from '#domain';

import type { Result } from '../result.ts';
import type { Instant, RunToken } from '../task-store.ts';
import { commitEvents } from './commit-events.ts';
import { ADVANCE_RUN } from './heads.sql.ts';
import { refusedRun } from './refused-run.ts';
import { first, type Steps, wake } from './step.ts';

/** Appends what a run reports while it works. Touches the task's row only for a new status or a long tail. */
export function* append(run: RunToken, events: readonly NewEvent[], at: Instant): Steps<Result<{ readonly seq: Seq }>> {
  const end = events.find((event) => event.kind === 'turn-ended' || ('state' in event && isTerminal(event.state)));
  // An end would leave the lane held. `finish` ends a turn, and can free its lane in the same step.
  if (end) throw new Error(`append() cannot end a turn (${end.kind}). Use finish().`);
  const committed = yield* commitEvents({
    task: run.task,
    from: 'working',
    events,
    at,
    fold: 'tail',
    advance: ({ count, length }) => first(ADVANCE_RUN, count, length, run.task, run.epoch),
  });
  if (!committed) return yield* refusedRun(run);
  yield* wake(run.taskId);
  return { ok: true, value: { seq: committed.head.seq } };
}
