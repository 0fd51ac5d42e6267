import type { Refused, Result } from '../result.ts';
import type { Admission } from '../task-store.ts';
import { admissionEvents, type AdmitOutcome, newTask } from './admission.ts';
import { commitEvents, type News } from './commit-events.ts';
import { takeConditions } from './conditions/index.ts';
import { type Entered, enterLane, turnIn } from './enter-lane.ts';
import { addFollower } from './following.ts';
import { HEAD, type HeadRow, INSERT_HEAD_AND_TURN } from './heads.sql.ts';
import { first, refuse, StepConflict, type Steps, wake } from './step.ts';
import { find } from './task-view.ts';
import { FACTS_BY_ID, FIND_IDEMPOTENCY, INSERT_IDEMPOTENCY } from './tasks.sql.ts';
import { addWebhook } from './webhooks.ts';

/** Writes a new task, or nothing: its row, its first event, its turn in the lane and its idempotency record. */
export function* admit(admission: Admission): Steps<Result<AdmitOutcome>> {
  const { idempotency, owner, at, conditions = [] } = admission;
  if (idempotency) {
    const known = yield* first(FIND_IDEMPOTENCY, owner, idempotency.key);
    if (known) return yield* admittedBefore(known, idempotency.bodyHash);
  }
  if (admission.isIdGiven && (yield* first(FACTS_BY_ID, admission.id))) return { ok: false, why: 'conflict' };
  const unmet = conditions.length > 0 ? yield* takeConditions(conditions) : undefined;
  const refused = (why: Refused): Refused => (conditions.length > 0 ? refuse(why) : why);
  if (unmet) return refused(unmet);
  const entered = yield* enterLane(admission);
  if (!entered.ok) return refused(entered);
  const { lane, isStarted, ahead } = entered.value;

  const committed = yield* commitEvents({
    task: newTask(admission),
    events: admissionEvents(admission, isStarted, ahead),
    at,
    fold: 'tail',
    advance: (news) => beginTask(news, admission, entered.value),
  });
  if (!committed) throw new Error(`Task ${admission.id} got no head.`);
  if (idempotency) {
    const recorded = yield* first(INSERT_IDEMPOTENCY, owner, idempotency.key, idempotency.bodyHash, admission.id);
    // Another call with the same key won the race: start again, and find the task that it admitted.
    if (!recorded) throw new StepConflict();
  }
  yield* wake(admission.id);
  return { ok: true, value: { again: false, task: committed.task, lane: lane.k, isStarted, ahead } };
}

/** Writes the head of a new task with its first turn, and the followers that it has from its first event on. */
function* beginTask({ task, count, length }: News, admission: Admission, entered: Entered): Steps<HeadRow> {
  const { push, followers = [] } = admission;
  const epoch = entered.isStarted ? 1 : 0;
  yield* first(INSERT_HEAD_AND_TURN, task, count, epoch, length, 0, ...turnIn(entered, admission));
  const head: HeadRow = { seq: count, epoch, ended: 0, cancel: 0, tail: length, content: 0, follows: 0 };
  if (!push && followers.length === 0) return head;
  if (push) yield* addWebhook(task, push);
  for (const follower of followers) yield* addFollower(task, follower);
  return (yield* first(HEAD, task)) ?? head;
}

function* admittedBefore(known: { body_hash: string; task_id: string }, bodyHash: string): Steps<Result<AdmitOutcome>> {
  if (known.body_hash !== bodyHash) return { ok: false, why: 'conflict' };
  const task = yield* find('all', known.task_id);
  if (!task) return { ok: false, why: 'conflict' };
  return { ok: true, value: { again: true, task } };
}
