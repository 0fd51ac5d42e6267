import { isInterrupted, isTerminal, type JsonObject, type Message, type NewEvent, type State } from '#domain';

import type { Refused, Result } from '../result.ts';
import type { Admitted, FollowUp, NewWebhook } from '../task-store.ts';
import { startedRun } from './admission.ts';
import { commitEvents } from './commit-events.ts';
import { takeConditions } from './conditions/index.ts';
import { enterLane, turnIn } from './enter-lane.ts';
import { IN_STATES } from './events.sql.ts';
import { HEAD, LOCK_HEAD, NEXT_TURN, SIZES, TELL_RUN } from './heads.sql.ts';
import { LANE_BY_KEY, LOCK_LANE, TURN } from './lanes.sql.ts';
import { first, refuse, StepConflict, type Steps, wake } from './step.ts';
import { messagesOf, reloadTask, visibleTask } from './task-view.ts';
import { type FactsRow, IN_HISTORY, inGroup, RUN_TASK, SET_TURNS } from './tasks.sql.ts';
import { addWebhook, placeFor } from './webhooks.ts';

/** Takes a message to an existing task: as its next turn, or for its live run. */
export function* follow(followUp: FollowUp): Steps<Result<Admitted>> {
  const { scope, id, conditions = [] } = followUp;
  const seen = yield* visibleTask(scope, id);
  if (!seen) return { ok: false, why: 'absent' };
  const seenSeq = (yield* first(HEAD, seen.k))?.seq;
  if (yield* isKnown(seen, followUp.message)) return yield* again(seen.k);

  const hasTaken = conditions.length > 0;
  const unmet = hasTaken ? yield* takeConditions(conditions) : undefined;
  const refused = (why: Refused): Refused => (hasTaken ? refuse(why) : why);
  if (unmet) return refused(unmet);

  // A step that changes a task with a turn locks its lane. The head alone guards a task without a turn.
  const lane = yield* first(LANE_BY_KEY, seen.session);
  if (lane) yield* first(LOCK_LANE, lane.k);
  yield* first(LOCK_HEAD, seen.k);
  // Before this step got the locks, another call may have sent the same message or answered the question.
  const row = yield* visibleTask(scope, id);
  // A task of this name that came after the one that was seen: its lane and head are not locked.
  if (row && row.k !== seen.k) throw new StepConflict();
  if (!row) return refused({ ok: false, why: 'absent' });
  const isNews = (yield* first(HEAD, row.k))?.seq !== seenSeq;
  if (isNews && (yield* isKnown(row, followUp.message))) {
    const known = yield* again(row.k);
    return hasTaken ? refuse(known) : known;
  }

  const told = yield* tell(row, followUp);
  return told.ok ? told : refused(told);
}

/** Careless clients use one messageId for several messages. What they say must not be lost, so the parts count, too. */
function* isKnown(row: FactsRow, message: Message): Steps<boolean> {
  // Nearly every message is new. A long conversation is parsed only where this id stands in it.
  const id = `"messageId":${JSON.stringify(message.messageId)}`;
  const isThere = (yield* first(IN_HISTORY, row.k, id)) ?? (yield* first(IN_STATES, row.k, row.folded, id));
  if (!isThere) return false;
  const words = JSON.stringify(message.parts);
  return (yield* messagesOf(row)).some(
    (known) => known.messageId === message.messageId && JSON.stringify(known.parts) === words,
  );
}

function* again(task: number): Steps<Result<Admitted>> {
  return { ok: true, value: { task: yield* reloadTask(task), events: [], again: true } };
}

/** Writes the message, under the locks of lane and head. */
function* tell(row: FactsRow, followUp: FollowUp): Steps<Result<Admitted>> {
  const state = row.status_state as State;
  if (isTerminal(state)) return { ok: false, why: 'terminal' };
  const { taskBytes = Infinity } = followUp;
  if (taskBytes < Infinity && ((yield* first(SIZES, ...inGroup([row.k])))?.size ?? 0) >= taskBytes) {
    return { ok: false, why: 'task-full' };
  }
  const unfinished = yield* first(TURN, row.k);
  const webhook = yield* webhookOf(row.k, followUp);
  if (webhook === 'full') return { ok: false, why: 'push-full' };
  const isAsking = isInterrupted(state);
  if (!unfinished) return isAsking ? yield* nextTurn(row, followUp, webhook) : { ok: false, why: 'terminal' };
  const isLive = unfinished.holder !== null && unfinished.turn_ended === 0;
  if (!isLive || !(isAsking || followUp.steerable)) return { ok: false, why: 'busy' };
  return yield* tellLiveRun(row, followUp, webhook);
}

/** The webhook that comes with a message, under the id that it gets. `full`: the task has its maximum of webhooks. */
function* webhookOf(task: number, { push }: FollowUp): Steps<NewWebhook | 'full' | undefined> {
  if (!push) return undefined;
  const id = yield* placeFor(task, push);
  return id === undefined ? 'full' : { ...push, id };
}

function* tellLiveRun(
  row: FactsRow,
  { message, at }: FollowUp,
  webhook: NewWebhook | undefined,
): Steps<Result<Admitted>> {
  if (webhook) yield* addWebhook(row.k, webhook);
  const committed = yield* commitEvents({
    task: row.k,
    from: row.status_state as State,
    events: [{ kind: 'message-received', state: 'working', message }],
    at,
    fold: 'tail',
    advance: ({ task, count, length }) => first(TELL_RUN, count, length, 0, task),
  });
  if (!committed) return { ok: false, why: 'terminal' };
  yield* wake(row.id);
  return { ok: true, value: { task: yield* reloadTask(row.k), events: committed.events, again: false } };
}

function* nextTurn(row: FactsRow, followUp: FollowUp, webhook: NewWebhook | undefined): Steps<Result<Admitted>> {
  const { message, at, call } = followUp;
  const { k: task, owner, agent, session } = row;
  const entered = yield* enterLane({ ...followUp, session, agent, owner });
  if (!entered.ok) return entered;
  const { lane, isStarted, ahead } = entered.value;
  if (webhook) yield* addWebhook(task, webhook);
  const received: NewEvent = {
    kind: 'message-received',
    state: 'submitted',
    message,
    ...(!isStarted && { queuedAt: at, queuePosition: ahead }),
  };
  const number = row.turns + 1;
  const turn = turnIn(entered.value, { ...followUp, owner });
  const committed = yield* commitEvents({
    task,
    from: row.status_state as State,
    events: isStarted ? [received, { kind: 'run-started', state: 'working', attempt: 1 }] : [received],
    at,
    fold: 'tail',
    advance: ({ count, length }) => first(NEXT_TURN, count, length, isStarted ? 1 : 0, number, ...turn, task),
  });
  if (!committed) throw new StepConflict();
  yield* first(SET_TURNS, number, task);
  yield* wake(row.id);
  const value = { task: yield* reloadTask(task), events: committed.events, again: false } as const;
  if (!isStarted) return { ok: true, value };
  const metadata = JSON.parse((yield* first(RUN_TASK, task))?.metadata ?? '{}') as JsonObject;
  const facts = { id: row.id, contextId: row.context_id, owner, tenant: row.tenant, agent, session };
  const { epoch, seq } = committed.head;
  const keys = { task, lane: lane.k, epoch, turn: number, seq };
  return { ok: true, value: { ...value, run: startedRun({ ...facts, message, metadata, call, at }, keys) } };
}
