import type { JsonObject, Message, NewEvent } from '#domain';

import type {
  AgentName,
  CallFacts,
  ClaimedRun,
  InstanceId,
  Instant,
  OwnRuns,
  Result,
  Run,
  TaskId,
} from '../task-store.ts';
import { insertEvents, numbered } from './event-log.ts';
import {
  BURY,
  BURY_EXPIRED,
  CLAIM_IN_TURN,
  FORGET_DEAD,
  HEAD_TURN,
  HELD_BY,
  HELD_SINCE,
  HOLD_LANE,
  INTERVENTIONS,
  IS_PAUSED,
  LEASE,
  LOCK_LANE,
  ORPHAN,
  ORPHANS,
  READY_LANES,
  REHOLD_LANE,
  RUNNING_BY_OWNER,
  TAKE_LEASE,
  type TurnRow,
} from './lanes.sql.ts';
import { all, first, type Steps, wake } from './step.ts';
import { setStatus } from './task-row.ts';
import { EVENT_AT, REHOLD_TURN, START_TURN, TASK_BY_KEY, type TaskRow } from './tasks.sql.ts';

/**
 * Takes the heads of idle lanes. Two statements for every lane: the first locks it, the second picks its head in a
 * snapshot that begins after the lock. In one statement the head could be a turn that another instance has claimed
 * and finished in between, and a completed task would run again.
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
    // With a limit per owner some of the ready lanes are passed over; look a little further.
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
  const started = { ...turn, holder: instance, attempt, started_at: turn.started_at ?? at, ref: null };
  const event: NewEvent = { kind: 'run-started', state: 'working', attempt };
  const head = yield* first(START_TURN, instance, attempt, started.started_at, at, turn.task);
  if (!head) throw new Error(`The turn of task ${turn.task} disappeared inside the step that starts it.`);
  const { rows, committed } = numbered(turn.task, head.seq, [event], at);
  yield* insertEvents(head, rows);
  yield* setStatus(turn.task, 'submitted', committed);
  const row = yield* taskOf(turn);
  yield* wake(row.id);
  return { run: yield* runOf(started, row, session, head, turn.ref), events: committed };
}

function* taskOf(turn: TurnRow): Steps<TaskRow> {
  const row = yield* first(TASK_BY_KEY, turn.task);
  if (!row) throw new Error(`Task ${turn.task} has a turn and no row.`);
  return row;
}

function* runOf(
  turn: TurnRow,
  row: TaskRow,
  session: string,
  head: { readonly epoch: number; readonly seq: number; readonly ended: number },
  ref: string | null,
): Steps<Run> {
  const carrier = yield* first(EVENT_AT, turn.task, turn.message_seq);
  if (!carrier) throw new Error(`The message of task ${row.id} is missing.`);
  const { message } = JSON.parse(carrier.data) as { message: Message };
  return {
    token: { taskId: row.id, task: turn.task, lane: turn.lane, epoch: head.epoch },
    contextId: row.context_id,
    owner: row.owner,
    tenant: row.tenant,
    agent: row.agent,
    session,
    turn: turn.number,
    attempt: turn.attempt,
    message,
    metadata: JSON.parse(row.metadata) as JsonObject,
    call: JSON.parse(turn.call) as CallFacts,
    ref: ref === null ? undefined : (JSON.parse(ref) as JsonObject),
    queuedAt: turn.queued_at,
    startedAt: turn.started_at ?? turn.queued_at,
    cancelRequested: turn.cancel === 1,
    ended: turn.turn_ended === 1 || head.ended === 1,
    seq: head.seq,
  };
}

/** One row per instance is its lease; an expired one stays expired, whatever its owner believes. */
export function* renew(instance: InstanceId, leaseMs: number): Steps<Result<null>> {
  return (yield* first(TAKE_LEASE, instance, leaseMs)) ? { ok: true, value: null } : { ok: false, why: 'lost' };
}

export function* leave(instance: InstanceId): Steps<void> {
  yield* first(BURY, instance);
  yield* wake();
}

/** How many orphans one step takes over: a dead instance's many runs must not make one long transaction. */
const REAP_BATCH = 64;

/**
 * Takes over the runs of instances whose lease is gone. The new epoch is the fence: from this commit on, nothing that
 * the old holder still sends is written. `mine` also takes what this instance itself holds without knowing: when the
 * answer to a claim was lost on its way, nobody else would ever find those runs.
 */
export function* reap(instance: InstanceId, at: Instant, mine?: OwnRuns): Steps<readonly ClaimedRun[]> {
  if (!(yield* first(LEASE, instance))) return [];
  yield* all(BURY_EXPIRED);
  yield* all(FORGET_DEAD);
  const taken: ClaimedRun[] = [];
  const orphans = yield* all(ORPHANS, REAP_BATCH);
  // Whoever reaps at the same moment locks them in the same order.
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
  const row = yield* taskOf(turn);
  const held = { ...turn, holder: instance, started_at: turn.started_at ?? at };
  return { run: yield* runOf(held, row, row.session, head, turn.ref), events: [] };
}

export function* interventions(instance: InstanceId): Steps<readonly TaskId[]> {
  return (yield* all(INTERVENTIONS, instance)).map((row) => row.id);
}
