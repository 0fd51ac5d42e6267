import type { NewEvent } from '#domain';

import type { AgentName, ClaimedRun, InstanceId, Instant } from '../task-store.ts';
import { commitEvents } from './commit-events.ts';
import { type HeadRow, START_TURN } from './heads.sql.ts';
import {
  CLAIM_IN_TURN,
  HEAD_TURN,
  HOLD_LANE,
  IS_PAUSED,
  LEASE,
  READY_LANES,
  RUNNING_BY_OWNER,
  type TurnRow,
} from './lanes.sql.ts';
import { runOf } from './run-of.ts';
import { all, first, type Steps, wake } from './step.ts';

/**
 * Takes the first turns of idle lanes. Each lane needs two statements: the first locks the lane, the second picks its
 * first turn in a snapshot that begins after the lock. With one statement, another instance could claim and finish that
 * turn in between, and a completed task would run again.
 */
export function* claim(request: {
  readonly instance: InstanceId;
  readonly free: Readonly<Record<AgentName, number>>;
  readonly at: Instant;
  readonly ownerRunning: number;
}): Steps<readonly ClaimedRun[]> {
  const { instance, at, ownerRunning } = request;
  if (!(yield* first(LEASE, instance))) return [];
  const claimed: ClaimedRun[] = [];
  const running = new Map<string, number>();
  if (ownerRunning > 0) {
    yield* first(CLAIM_IN_TURN);
    for (const { owner, n } of yield* all(RUNNING_BY_OWNER)) running.set(owner, n);
  }
  for (const [agent, free] of Object.entries(request.free)) {
    if (free < 1 || (yield* first(IS_PAUSED, agent))) continue;
    // A limit per owner skips some of the ready lanes, so ask for more lanes than there are free slots.
    const lanes = yield* all(
      READY_LANES,
      agent,
      at,
      ownerRunning,
      ownerRunning,
      ownerRunning > 0 ? free * 4 + 16 : free,
    );
    let taken = 0;
    for (const lane of lanes) {
      if (taken === free) break;
      const ownRuns = running.get(lane.owner) ?? 0;
      if (ownerRunning > 0 && ownRuns >= ownerRunning) continue;
      const turn = yield* first(HEAD_TURN, lane.k);
      if (!turn || turn.holder !== null) continue;
      yield* first(HOLD_LANE, instance, lane.k);
      claimed.push(yield* startTurn(turn, lane.key, instance, at));
      running.set(lane.owner, ownRuns + 1);
      taken += 1;
    }
  }
  return claimed;
}

function* startTurn(turn: TurnRow, session: string, instance: InstanceId, at: Instant): Steps<ClaimedRun> {
  const attempt = turn.attempt + 1;
  const startedAt = turn.started_at ?? at;
  const event: NewEvent = { kind: 'run-started', state: 'working', attempt };
  const committed = yield* commitEvents({
    task: turn.task,
    from: attempt === 1 ? 'submitted' : 'working',
    events: [event],
    at,
    fold: 'tail',
    advance: ({ task, count, length }): Steps<HeadRow | undefined> =>
      first(START_TURN, count, length, instance, attempt, startedAt, at, task),
  });
  if (!committed) throw new Error(`The turn of task ${turn.task} disappeared inside the step that starts it.`);
  const started = { ...turn, holder: instance, attempt, started_at: startedAt, ref: null };
  const run = yield* runOf(started, session, committed.head, turn.ref);
  yield* wake(run.token.taskId);
  return { run, events: committed.events };
}
