import { isTerminal, type State, type TaskSnapshot } from '#domain';

import type { Result } from '../result.ts';
import type { PutTask, StoredTask } from '../task-store.ts';
import { commitEvents, type NewTask } from './commit-events.ts';
import { isoOf } from './event-text.ts';
import { HEAD, INSERT_HEAD, LOCK_HEAD, REWRITE_TASK } from './heads.sql.ts';
import { TURN } from './lanes.sql.ts';
import { first, StepConflict, type Steps, wake } from './step.ts';
import { reloadTask } from './task-view.ts';
import { FACTS_BY_ID, type FactsRow, SET_CONTEXT, STATE_OF } from './tasks.sql.ts';

/** Writes a whole task as one event. The views create and update tasks in this way. */
export function* put(request: PutTask): Steps<Result<StoredTask>> {
  const row = yield* first(FACTS_BY_ID, request.id);
  if (row && request.mode === 'create') return { ok: false, why: 'conflict' };
  if (!row && request.mode === 'replace') return { ok: false, why: 'absent' };
  if (row && (row.owner !== request.owner || row.tenant !== request.tenant)) return { ok: false, why: 'absent' };
  const { snapshot } = request;
  const dated = { ...snapshot, statusAt: snapshot.statusAt || isoOf(request.at) };
  return row ? yield* rewrite(row, request, dated) : yield* create(request, dated);
}

function* create(request: PutTask, snapshot: TaskSnapshot): Steps<Result<StoredTask>> {
  const { id, owner, tenant, agent } = request;
  const fresh: NewTask = {
    id,
    context_id: request.contextId,
    metadata: JSON.stringify(snapshot.metadata),
    owner,
    tenant,
    agent,
    dialect: '1.0',
    session: `put/${id}`,
    direct: 0,
    turns: 0,
  };
  const committed = yield* commitEvents({
    task: fresh,
    events: [{ kind: 'task-put', state: snapshot.state, snapshot }],
    at: request.at,
    fold: 'turn',
    *advance({ task, count, length, ended }) {
      yield* first(INSERT_HEAD, task, count, ended, length);
      return { seq: count, epoch: 0, ended, cancel: 0, tail: 0, content: length, follows: 0 };
    },
  });
  if (!committed) throw new Error(`Task ${id} got no head.`);
  yield* wake(id);
  return { ok: true, value: yield* reloadTask(committed.task) };
}

function* rewrite(row: FactsRow, request: PutTask, snapshot: TaskSnapshot): Steps<Result<StoredTask>> {
  yield* first(LOCK_HEAD, row.k);
  if (yield* first(TURN, row.k)) return { ok: false, why: 'busy' };
  const { seenSeq } = request;
  if (seenSeq !== undefined && (yield* first(HEAD, row.k))?.seq !== seenSeq) return { ok: false, why: 'conflict' };
  // A caller may correct an ended task, but cannot reopen it. The state is read under the lock.
  const state = ((yield* first(STATE_OF, row.k))?.status_state ?? row.status_state) as State;
  if (isTerminal(state) && state !== snapshot.state) return { ok: false, why: 'terminal' };
  const committed = yield* commitEvents({
    task: row.k,
    events: [{ kind: 'task-put', state: snapshot.state, snapshot }],
    at: request.at,
    fold: 'turn',
    advance: ({ task, count, length, ended }) => first(REWRITE_TASK, count, length, ended, task),
  });
  // The task was deleted after this step saw it. An upsert starts again, and creates it.
  if (!committed && request.mode === 'upsert') throw new StepConflict();
  if (!committed) return { ok: false, why: 'absent' };
  if (row.context_id !== request.contextId) yield* first(SET_CONTEXT, request.contextId, row.k);
  yield* wake(row.id);
  return { ok: true, value: yield* reloadTask(row.k) };
}
