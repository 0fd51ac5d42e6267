import type { JsonObject, Message } from '#domain';

import type { CallFacts, Run } from '../task-store.ts';
import { EVENT_AT } from './events.sql.ts';
import type { HeadRow } from './heads.sql.ts';
import type { TurnRow } from './lanes.sql.ts';
import { first, type Steps } from './step.ts';
import { RUN_TASK } from './tasks.sql.ts';

/** A held turn, as its holder gets it. Without `session`, the session is the one in the task's row. */
export function* runOf(
  turn: TurnRow,
  session: string | undefined,
  head: Pick<HeadRow, 'epoch' | 'seq' | 'ended'>,
  ref: string | null,
): Steps<Run> {
  const row = yield* first(RUN_TASK, turn.task);
  if (!row) throw new Error(`Task ${turn.task} has a turn and no row.`);
  const carrier = yield* first(EVENT_AT, turn.task, turn.message_seq);
  if (!carrier) throw new Error(`The message of task ${row.id} is missing.`);
  const { message } = JSON.parse(carrier.data) as { message: Message };
  return {
    token: { taskId: row.id, task: turn.task, lane: turn.lane, epoch: head.epoch },
    contextId: row.context_id,
    owner: row.owner,
    tenant: row.tenant,
    agent: row.agent,
    session: session ?? row.session,
    turn: turn.number,
    attempt: turn.attempt,
    drains: turn.drains,
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
