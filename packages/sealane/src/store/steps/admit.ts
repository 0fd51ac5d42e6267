import { isTerminal, type JsonObject, type Message, type NewEvent, runIdOf, type State } from '#domain';

import type {
  Admission,
  Admitted,
  CallFacts,
  FollowUp,
  NewWebhook,
  QueueLimits,
  Result,
  Slot,
  StoredTask,
} from '../task-store.ts';
import {
  ENTER_LANE,
  IS_PAUSED,
  type LaneRow,
  LANE_BY_KEY,
  LOCK_LANE,
  MAKE_HELD_LANE,
  RUNNING_IN,
  TURN,
  TURNS_AHEAD,
  WAITING_BEYOND,
} from './lanes.sql.ts';
import { admissionEvents, admissionRow, startedRun } from './admission.ts';
import { insertEvents, insertTurnEvents, inWords, numbered } from './event-log.ts';
import { makeReady } from './lanes.ts';
import { SAVE_WEBHOOK } from './outbox.sql.ts';
import { first, type Param, StepConflict, type Steps, wake } from './step.ts';
import { appendFromOutside, loadTask, setStatus, visibleTask } from './task-row.ts';
import {
  BEGIN_TURN,
  FIND_IDEMPOTENCY,
  INSERT_HEAD_AND_TURN,
  INSERT_IDEMPOTENCY,
  INSERT_TASK,
  inGroup,
  LOCK_HEAD,
  SET_TURN,
  SET_TURNS,
  SIZES,
  TASK_BY_ID,
  type TaskRow,
} from './tasks.sql.ts';
import { addWebhook, placeFor } from './webhooks.ts';

/** A new task: its row, its first event, its turn in the lane and its idempotency record, or nothing at all. */
export function* admit(admission: Admission): Steps<Result<AdmitOutcome>> {
  const { idempotency, owner, at, push } = admission;
  if (idempotency) {
    const known = yield* first(FIND_IDEMPOTENCY, owner, idempotency.key);
    if (known) return yield* admittedBefore(known, idempotency.bodyHash);
  }
  if (admission.isIdGiven && (yield* first(TASK_BY_ID, admission.id))) return { ok: false, why: 'conflict' };
  const place = yield* enterLane(admission);
  if (!place.ok) return place;
  const { lane, isStarted, ahead } = place.value;

  const news = admissionEvents(admission, isStarted, ahead);
  const { texts, length } = inWords(news);
  const row = admissionRow(admission, isStarted ? 'working' : 'submitted');
  const inserted = yield* first(INSERT_TASK, ...Object.values(row));
  if (!inserted) throw new Error('The database did not say which key the task got.');
  const task = inserted.k;
  const head = { push: push ? 1 : 0 };
  const turn = turnIn(lane, admission, isStarted);
  yield* first(INSERT_HEAD_AND_TURN, task, news.length, isStarted ? 1 : 0, length, head.push, ...turn);
  if (push) yield* first(SAVE_WEBHOOK, task, push.id, JSON.stringify(push.config), 0);
  yield* insertTurnEvents(head, numbered(task, 1, news, at, texts).rows);
  if (idempotency) {
    const recorded = yield* first(INSERT_IDEMPOTENCY, owner, idempotency.key, idempotency.bodyHash, admission.id);
    // Somebody else was quicker with the same key: start again and find what they admitted.
    if (!recorded) throw new StepConflict();
  }
  yield* wake(admission.id);
  return { ok: true, value: { again: false, task, lane: lane.k, isStarted, ahead } };
}

/** Only what the caller does not know already; `assembleAdmitted` makes the port's answer of it. */
export type AdmitOutcome =
  | { readonly again: true; readonly task: StoredTask }
  | {
      readonly again: false;
      readonly task: number;
      readonly lane: number;
      readonly isStarted: boolean;
      readonly ahead: number;
    };

function* admittedBefore(known: { body_hash: string; task_id: string }, bodyHash: string): Steps<Result<AdmitOutcome>> {
  if (known.body_hash !== bodyHash) return { ok: false, why: 'conflict' };
  const row = yield* first(TASK_BY_ID, known.task_id);
  if (!row) return { ok: false, why: 'conflict' };
  return { ok: true, value: { again: true, task: yield* loadTask(row) } };
}

interface Entrant {
  readonly session: string;
  readonly agent: string;
  readonly owner: string;
  readonly call: CallFacts;
  readonly slot?: Slot;
  readonly limits: QueueLimits;
}

/** A lane, and the place in it that was taken last. */
type LanePlace = Pick<LaneRow, 'k' | 'places'>;

/** Takes a place in the lane; the lane row is locked from here to the commit. */
function* enterLane(who: Entrant): Steps<Result<{ lane: LanePlace; isStarted: boolean; ahead: number }>> {
  const { session, owner, slot, limits } = who;
  if (who.call.ancestors?.length) {
    const running = yield* first(RUNNING_IN, session);
    const name = running && runIdOf(running.id, running.number, running.attempt);
    if (name !== undefined && who.call.ancestors.includes(name)) return { ok: false, why: 'loop' };
  }
  if (limits.ownerWaiting > 0) {
    const tooMany = yield* first(WAITING_BEYOND, owner, limits.ownerWaiting - 1);
    if (tooMany) return { ok: false, why: 'owner-full' };
  }
  const made = slot && (yield* first(MAKE_HELD_LANE, session, who.agent, owner, slot.instance, who.agent));
  if (made) return { ok: true, value: { lane: { k: made.k, places: 1 }, isStarted: true, ahead: 0 } };
  const holder = slot && !(yield* first(IS_PAUSED, who.agent)) ? slot.instance : null;
  const lane = yield* first(ENTER_LANE, session, who.agent, owner, holder, holder, limits.laneWaiting);
  if (!lane) return { ok: false, why: 'full' };
  // Every turn that must wait is counted in `waiting`; so nobody waits only if this one has just started.
  const isStarted = holder !== null && lane.holder === holder && lane.waiting === 0;
  if (isStarted) return { ok: true, value: { lane, isStarted, ahead: 0 } };
  if (lane.holder === null && lane.waiting === 1 && lane.paused === 0) yield* makeReady(lane);
  const ahead = yield* first(TURNS_AHEAD, lane.k, lane.k, lane.places);
  return { ok: true, value: { lane, isStarted: false, ahead: ahead?.n ?? 0 } };
}

/** A turn as its columns stand in the statements that write one: lane, place, owner, call, times, holder, attempt. */
const turnIn = (
  lane: LanePlace,
  by: { readonly owner: string; readonly call: CallFacts; readonly at: number; readonly slot?: Slot },
  isStarted: boolean,
): readonly Param[] => {
  const started = isStarted ? by.at : null;
  const holder = isStarted ? (by.slot?.instance ?? null) : null;
  return [lane.k, lane.places, by.owner, JSON.stringify(by.call), by.at, started, started, holder, isStarted ? 1 : 0];
};

/** Clients that use an id for several messages are careless, but what they say must not be lost: words count, too. */
const isRepeat = (known: Message, message: Message): boolean =>
  known.messageId === message.messageId && JSON.stringify(known.parts) === JSON.stringify(message.parts);

/** A message to a task that exists: its next turn, or an answer to its live run. */
export function* follow(followUp: FollowUp): Steps<Result<Admitted>> {
  const { message, at } = followUp;
  const seen = yield* visibleTask(followUp.scope, followUp.id);
  if (!seen) return { ok: false, why: 'absent' };
  // Whoever changes a task with a turn holds its lane; a task without one is guarded by its head alone.
  const lane = yield* first(LANE_BY_KEY, seen.session);
  if (lane) yield* first(LOCK_LANE, lane.k);
  yield* first(LOCK_HEAD, seen.k);
  // Between the look and the lock somebody else may have answered, and the task may have asked again.
  const row = (yield* visibleTask(followUp.scope, followUp.id)) ?? seen;
  const task = yield* loadTask(row);
  if ((JSON.parse(task.history) as Message[]).some((known) => isRepeat(known, message))) {
    return { ok: true, value: { task, events: [], again: true } };
  }
  if (isTerminal(task.state)) return { ok: false, why: 'terminal' };
  const { taskBytes = Infinity } = followUp;
  if (taskBytes < Infinity && ((yield* first(SIZES, ...inGroup([row.k])))?.size ?? 0) >= taskBytes) {
    return { ok: false, why: 'task-full' };
  }
  const unfinished = yield* first(TURN, row.k);
  const webhook = yield* webhookOf(row.k, followUp);
  if (webhook === 'full') return { ok: false, why: 'push-full' };
  const isAsking = task.state === 'input-required' || task.state === 'auth-required';
  if (unfinished) {
    const isLive = unfinished.holder !== null && unfinished.turn_ended === 0;
    if (!isLive || !(isAsking || followUp.steerable)) return { ok: false, why: 'busy' };
    return yield* tellLiveRun(row, message, at, webhook);
  }
  if (!isAsking) return { ok: false, why: 'terminal' };

  const entrant = { ...followUp, session: row.session, agent: row.agent, owner: row.owner };
  const place = yield* enterLane(entrant);
  if (!place.ok) return place;
  const { isStarted, ahead } = place.value;
  if (webhook) yield* addWebhook(row.k, webhook);
  const received: NewEvent = {
    kind: 'message-received',
    state: 'submitted',
    message,
    ...(!isStarted && { queuedAt: at, queuePosition: ahead }),
  };
  const appended = yield* appendFromOutside(row.k, received, at);
  if (!appended) throw new StepConflict();
  const { head } = appended;
  let { committed } = appended;
  yield* first(SET_TURNS, row.turns + 1, row.k);
  const turn = turnIn(place.value.lane, { ...followUp, owner: row.owner }, isStarted);
  yield* first(SET_TURN, row.turns + 1, head.seq, ...turn, row.k);
  let epoch = head.epoch;
  if (isStarted) {
    const started = yield* first(BEGIN_TURN, row.k);
    if (!started) throw new Error(`Task ${row.id} has no head.`);
    epoch = started.epoch;
    const begun = numbered(row.k, started.seq, [{ kind: 'run-started', state: 'working', attempt: 1 }], at);
    yield* insertEvents(started, begun.rows);
    committed = [...committed, ...begun.committed];
  }
  yield* setStatus(row.k, task.state, committed);
  yield* wake(row.id);
  const keys = {
    task: row.k,
    lane: place.value.lane.k,
    epoch,
    turn: row.turns + 1,
    seq: committed.at(-1)?.seq ?? head.seq,
  };
  const metadata = JSON.parse(row.metadata) as JsonObject;
  const facts = { id: row.id, contextId: row.context_id, owner: row.owner, tenant: row.tenant, agent: row.agent };
  return {
    ok: true,
    value: {
      task: yield* loadTask((yield* first(TASK_BY_ID, row.id)) ?? row),
      events: committed,
      again: false,
      ...(isStarted && {
        run: startedRun({ ...facts, session: row.session, message, metadata, call: followUp.call, at }, keys),
      }),
    },
  };
}

/** The webhook that comes with a message, under the id it gets; `full` when its task has enough of them. */
function* webhookOf(task: number, { push }: FollowUp): Steps<NewWebhook | 'full' | undefined> {
  if (!push) return undefined;
  const id = yield* placeFor(task, push);
  return id === undefined ? 'full' : { ...push, id };
}

function* tellLiveRun(
  row: TaskRow,
  message: Message,
  at: number,
  webhook: NewWebhook | undefined,
): Steps<Result<Admitted>> {
  if (webhook) yield* addWebhook(row.k, webhook);
  const received: NewEvent = { kind: 'message-received', state: 'working', message };
  const appended = yield* appendFromOutside(row.k, received, at);
  if (!appended) return { ok: false, why: 'terminal' };
  const { committed } = appended;
  yield* setStatus(row.k, row.status_state as State, committed);
  yield* wake(row.id);
  const reloaded = yield* first(TASK_BY_ID, row.id);
  return { ok: true, value: { task: yield* loadTask(reloaded ?? row), events: committed, again: false } };
}
