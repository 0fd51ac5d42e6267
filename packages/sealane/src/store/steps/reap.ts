import type { ClaimedRun, InstanceId, Instant, OwnRuns } from '../task-store.ts';
import { REHOLD_TURN } from './heads.sql.ts';
import {
  BURY_EXPIRED,
  FORGET_DEAD,
  HELD_BY,
  HELD_SINCE,
  LEASE,
  LOCK_LANE,
  ORPHAN,
  ORPHANS,
  REHOLD_LANE,
  type TurnRow,
} from './lanes.sql.ts';
import { runOf } from './run-of.ts';
import { all, first, type Steps } from './step.ts';

/** The most orphans that one step takes over: the many runs of a dead instance must not make one long transaction. */
const REAP_BATCH = 64;

/**
 * Takes over the runs of instances whose lease is gone. The new epoch is the fence: from this commit on, every write of
 * the old holder fails. With `mine`, it also takes over runs that this instance holds without knowing: if the answer to
 * a claim was lost, no other instance would ever find those runs.
 */
export function* reap(instance: InstanceId, at: Instant, mine?: OwnRuns): Steps<readonly ClaimedRun[]> {
  if (!(yield* first(LEASE, instance))) return [];
  yield* all(BURY_EXPIRED);
  yield* all(FORGET_DEAD);
  const taken: ClaimedRun[] = [];
  const orphans = yield* all(ORPHANS, REAP_BATCH);
  // Instances that reap at the same moment lock the orphans in the same order.
  for (const orphan of orphans.toSorted((a, b) => a.task - b.task)) {
    yield* first(LOCK_LANE, orphan.lane);
    const turn = yield* first(ORPHAN, orphan.task);
    if (turn) taken.push(yield* takeOver(turn, instance, at));
  }
  const held = mine ? yield* all(HELD_SINCE, instance, mine.heldBefore) : [];
  for (const stray of held) {
    if (mine?.known.includes(stray.id)) continue;
    yield* first(LOCK_LANE, stray.lane);
    const turn = yield* first(HELD_BY, stray.task, instance);
    if (turn) taken.push(yield* takeOver(turn, instance, at));
  }
  return taken;
}

function* takeOver(turn: TurnRow, instance: InstanceId, at: Instant): Steps<ClaimedRun> {
  const head = yield* first(REHOLD_TURN, instance, at, turn.task);
  if (!head) throw new Error(`The turn of task ${turn.task} disappeared inside the step that takes it over.`);
  yield* first(REHOLD_LANE, instance, turn.lane);
  const held = { ...turn, holder: instance, started_at: turn.started_at ?? at };
  const run = yield* runOf(held, undefined, head, turn.ref);
  return { run: turn.held_at === null ? { ...run, holderLeft: true } : run, events: [] };
}
