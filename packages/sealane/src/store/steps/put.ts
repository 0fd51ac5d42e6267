import { isTerminal, type NewEvent, type State } from '#domain';

import type { PutTask, Result, Scope, StoredTask, TaskId } from '../task-store.ts';
import { columnsOf } from './content.ts';
import { insertEvents, isoOf, numbered } from './event-log.ts';
import { LOCK_LANE, TURN } from './lanes.sql.ts';
import { leaveLane } from './lanes.ts';
import { DELETE_OWED_OF, DELETE_WEBHOOKS } from './outbox.sql.ts';
import { first, StepConflict, type Steps, wake } from './step.ts';
import { openFlag, reloadTask, sizeOf, visibleTask } from './task-row.ts';
import {
  DELETE_EVENTS,
  DELETE_HEAD,
  DELETE_IDEMPOTENCY,
  DELETE_TASK,
  HEAD,
  INSERT_HEAD,
  INSERT_TASK,
  LOCK_HEAD,
  REOPEN_HEAD,
  SET_CONTEXT,
  SET_SNAPSHOT,
  STATE_OF,
  TASK_BY_ID,
  type TaskRow,
} from './tasks.sql.ts';

/** Writes a whole task as one event: how the store's views create and update. */
export function* put(request: PutTask): Steps<Result<StoredTask>> {
  const { snapshot, at } = request;
  const row = yield* first(TASK_BY_ID, request.id);
  if (row && request.mode === 'create') return { ok: false, why: 'conflict' };
  if (!row && request.mode === 'replace') return { ok: false, why: 'absent' };
  if (row && (row.owner !== request.owner || row.tenant !== request.tenant)) return { ok: false, why: 'absent' };
  const event: NewEvent = { kind: 'task-put', state: snapshot.state, snapshot };
  const iso = isoOf(at);
  const content = columnsOf({ ...snapshot, statusAt: snapshot.statusAt || iso });
  const open = openFlag(snapshot.state);
  const ended = isTerminal(snapshot.state) ? 1 : 0;
  if (row) {
    yield* first(LOCK_HEAD, row.k);
    if (yield* first(TURN, row.k)) return { ok: false, why: 'busy' };
    const { seenSeq } = request;
    if (seenSeq !== undefined && (yield* first(HEAD, row.k))?.seq !== seenSeq) return { ok: false, why: 'conflict' };
    // Who writes an ended task again may correct it, but cannot bring it back. Looked at under the lock.
    const state = ((yield* first(STATE_OF, row.k))?.status_state ?? row.status_state) as State;
    if (isTerminal(state) && state !== snapshot.state) return { ok: false, why: 'terminal' };
    const head = yield* first(REOPEN_HEAD, ended, sizeOf(content), row.k);
    // Deleted since it was seen: who wants it to be there writes it anew.
    if (!head && request.mode === 'upsert') throw new StepConflict();
    if (!head) return { ok: false, why: 'absent' };
    yield* insertEvents(head, numbered(row.k, head.seq, [event], at).rows);
    if (row.context_id !== request.contextId) yield* first(SET_CONTEXT, request.contextId, row.k);
    yield* first(SET_SNAPSHOT, ...Object.values(content), open, iso, head.seq, row.k);
    yield* wake(row.id);
    return { ok: true, value: yield* reloadTask(row.k) };
  }
  const fresh: Omit<TaskRow, 'k'> = {
    id: request.id,
    context_id: request.contextId,
    status_state: content.status_state,
    status_message: content.status_message,
    status_timestamp: content.status_timestamp,
    created_at: iso,
    updated_at: iso,
    artifacts: content.artifacts,
    history: content.history,
    metadata: content.metadata,
    owner: request.owner,
    tenant: request.tenant,
    agent: request.agent,
    dialect: '1.0',
    session: `put/${request.id}`,
    direct: 0,
    turns: 0,
    folded: 1,
    open,
  };
  const inserted = yield* first(INSERT_TASK, ...Object.values(fresh));
  if (!inserted) throw new Error('The database did not say which key the task got.');
  const head = { push: 0 };
  yield* first(INSERT_HEAD, inserted.k, ended, sizeOf(content));
  yield* insertEvents(head, numbered(inserted.k, 1, [event], at).rows);
  yield* wake(request.id);
  return { ok: true, value: yield* reloadTask(inserted.k) };
}

/** Deletes a task that nobody works on; a waiting turn leaves its lane, which goes on. */
export function* remove(scope: Scope, id: TaskId): Steps<Result<null>> {
  const row = yield* visibleTask(scope, id);
  if (!row) return { ok: false, why: 'absent' };
  const seen = yield* first(TURN, row.k);
  if (seen) yield* first(LOCK_LANE, seen.lane);
  yield* first(LOCK_HEAD, row.k);
  const turn = yield* first(TURN, row.k);
  if (turn && turn.holder !== null) return { ok: false, why: 'busy' };
  if (turn) yield* leaveLane(turn);
  yield* deleteTask(row.k, row.id);
  yield* wake(row.id);
  return { ok: true, value: null };
}

/** The head goes first: whoever is just writing has it, and what they write must be seen by the statements after it. */
export function* deleteTask(task: number, id: TaskId): Steps<void> {
  yield* first(DELETE_HEAD, task);
  yield* first(DELETE_EVENTS, task);
  yield* first(DELETE_WEBHOOKS, task);
  yield* first(DELETE_OWED_OF, task);
  yield* first(DELETE_IDEMPOTENCY, id);
  yield* first(DELETE_TASK, task);
}
