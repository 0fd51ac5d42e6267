import { type Event, EVENT_CLASSES, type EventClass, eventsOfClass, type Seq, type State } from '#domain';

import type { FollowerKind } from '../follower.ts';
import type {
  Advanced,
  FollowerAnswers,
  FollowerEffects,
  Handled,
  Owed,
  OwedClaim,
  OwedEvents,
  OwedRange,
} from '../outbox-store.ts';
import type { Result } from '../result.ts';
import type { InstanceId, StoredTask } from '../task-store.ts';
import { eventOf } from './event-text.ts';
import { EVENTS_AFTER, STATE_BEFORE, STATES_AFTER } from './events.sql.ts';
import { FOLLOWERS } from './followers/index.ts';
import type { FollowerSteps } from './followers/follower-kind.ts';
import { LEASE } from './lanes.sql.ts';
import {
  ADVANCE_AND_CALL_AGAIN,
  ADVANCE_FOLLOWER,
  CLAIM_FOLLOWER,
  CLAIMED,
  CLOSE_CLAIM,
  DUE,
  DUE_OF,
  FOLLOWER,
  type FollowerRow,
  FREE_FOLLOWERS,
  KEEP_CLAIM,
  LAPSED_CLAIMS,
  OPEN_CLAIM,
  RETRY_FOLLOWER,
} from './outbox.sql.ts';
import { CLASS_BITS } from './owe.ts';
import { all, first, type Steps, undoPoint } from './step.ts';
import { reloadTask, rowsAfter } from './task-view.ts';
import { FACTS_BY_KEY } from './tasks.sql.ts';

/** The most followers that one claim takes. The others stay due, for the next claim. */
const RANGES = 256;
/** How many rows are read for each target that is wanted, because several rows may belong to one target. */
const ROWS_PER_TARGET = 4;

/** Takes what is due for targets without a claim. Skips a target that another instance is just claiming. */
export function* claimOwed<K extends FollowerKind>(request: {
  readonly kind: K;
  readonly instance: InstanceId;
  readonly limit: number;
  readonly leaseMs: number;
}): Steps<readonly Owed<K>[]> {
  const { kind, instance, limit, leaseMs } = request;
  if (!(yield* first(LEASE, instance))) return [];
  yield* freeLapsedClaims();
  const due = yield* all(DUE, kind, limit * ROWS_PER_TARGET);
  const targets = [...new Set(due.map(({ target }) => target))].slice(0, limit);
  const claimed: Owed<K>[] = [];
  for (const target of targets) {
    const opened = yield* first(OPEN_CLAIM, kind, target, instance, leaseMs);
    if (!opened) continue;
    const rows = yield* all(DUE_OF, kind, target, RANGES);
    for (const row of rows) yield* first(CLAIM_FOLLOWER, opened.k, row.k);
    // Another step is writing the rows of this target. Its wake, or the next poll, leads to another claim.
    if (rows.length === 0) yield* first(CLOSE_CLAIM, opened.k);
    else claimed.push({ claim: { kind, target, k: opened.k, advances: 0 }, ranges: rows.map(rangeOf) });
  }
  return claimed;
}

/** A claim lapses with its own lease, or with the lease of its instance. */
function* freeLapsedClaims(): Steps<void> {
  for (const { k } of yield* all(LAPSED_CLAIMS, RANGES)) {
    yield* first(FREE_FOLLOWERS, k);
    yield* first(CLOSE_CLAIM, k);
  }
}

const rangeOf = (row: FollowerRow): OwedRange => ({
  follower: row.k,
  subject: { type: 'task', key: row.subject },
  firstSeq: row.first_seq,
  lastSeq: row.last_seq,
  attempts: row.attempts,
});

/** Records what was handled, writes the effect of the kind, and answers what is left, in one step. */
export function* advanceOwed<K extends FollowerKind>(
  claim: OwedClaim<K>,
  handled: readonly Handled[],
  leaseMs: number,
  effect?: FollowerEffects[K] | null,
): Steps<Result<Advanced<K>>> {
  yield* undoPoint();
  if (!(yield* first(KEEP_CLAIM, leaseMs, claim.k, claim.advances))) return { ok: false, why: 'lost' };
  const byFollower = new Map(handled.map((range) => [range.follower, range]));
  const rows = (yield* all(CLAIMED, claim.k)).filter(({ k }) => byFollower.has(k));
  // Where every follower that was handled is gone, nothing was owed, and nothing is written.
  const isOwed = rows.length > 0 && effect !== undefined && effect !== null;
  const kind = FOLLOWERS[claim.kind] as FollowerSteps<K>;
  const answer: FollowerAnswers[K] | undefined = isOwed ? yield* kind.apply(claim.target, effect) : undefined;
  for (const row of rows) yield* advanceFollower(row, byFollower.get(row.k), claim.k);
  const left = yield* all(CLAIMED, claim.k);
  if (left.length === 0) yield* first(CLOSE_CLAIM, claim.k);
  const next = { ...claim, advances: claim.advances + 1 };
  const owed = left.length === 0 ? undefined : { claim: next, ranges: left.map(rangeOf) };
  return { ok: true, value: { owed, answer } };
}

function* advanceFollower({ k }: FollowerRow, handled: Handled | undefined, claim: number): Steps<void> {
  const { upTo, againAfterMs } = handled ?? {};
  if (upTo === undefined) {
    if (againAfterMs !== undefined) yield* first(RETRY_FOLLOWER, againAfterMs, k, claim);
    return;
  }
  const next = upTo + 1;
  if (againAfterMs === undefined) yield* first(ADVANCE_FOLLOWER, next, next, next, next, k, claim);
  else yield* first(ADVANCE_AND_CALL_AGAIN, next, next, next, againAfterMs, k, claim);
}

/** The events of its class that are owed to a follower. Only the class `every` reads chunks at all. */
export function* readOwed(follower: number, from: Seq, limit: number): Steps<OwedEvents | undefined> {
  const row = yield* first(FOLLOWER, follower);
  const task = row && (yield* first(FACTS_BY_KEY, row.subject));
  if (!row || !task) return undefined;
  const eventClass = classOf(row);
  const after = Math.max(from, row.first_seq) - 1;
  const statement = eventClass === 'every' ? EVENTS_AFTER : STATES_AFTER;
  const rows = yield* all(statement, row.subject, after, limit);
  const events = rows.map(eventOf).filter(({ seq }) => seq <= row.last_seq);
  const earlier = eventClass === 'state' ? yield* first(STATE_BEFORE, row.subject, after + 1) : undefined;
  const before = earlier && (JSON.parse(earlier.data) as { state: State }).state;
  return {
    events: eventsOfClass(eventClass, before, events),
    upTo: rows.length < limit ? row.last_seq : (events.at(-1)?.seq ?? row.last_seq),
    taskId: task.removed_id ?? task.id,
    contextId: task.context_id,
  };
}

/** The task of a follower, under the id that it had when the follower was added. */
export function* followedTask(follower: number): Steps<StoredTask | undefined> {
  const row = yield* first(FOLLOWER, follower);
  const facts = row && (yield* first(FACTS_BY_KEY, row.subject));
  if (!facts) return undefined;
  return { ...(yield* reloadTask(facts.k)), id: facts.removed_id ?? facts.id };
}

export function* followedLog(follower: number, after: Seq, limit: number): Steps<readonly Event[]> {
  const row = yield* first(FOLLOWER, follower);
  return row ? (yield* rowsAfter(row.subject, after, limit)).map(eventOf) : [];
}

const classOf = ({ events }: FollowerRow): EventClass =>
  EVENT_CLASSES.find((eventClass) => CLASS_BITS[eventClass] === events) ?? 'every';
