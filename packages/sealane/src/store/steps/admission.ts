import type { JsonObject, Message, NewEvent, State } from '#domain';

import type { Admission, Admitted, CallFacts, Run } from '../task-store.ts';
import type { AdmitOutcome } from './admit.ts';
import { isoOf, numbered } from './event-log.ts';
import { openFlag, storedTask } from './task-row.ts';
import type { TaskRow } from './tasks.sql.ts';

/** The first events of a task: admitted, and started when its lane was idle. */
export const admissionEvents = (admission: Admission, isStarted: boolean, ahead: number): readonly NewEvent[] => {
  const admitted: NewEvent = {
    kind: 'task-admitted',
    state: 'submitted',
    message: admission.message,
    ...(Object.keys(admission.metadata).length > 0 && { metadata: admission.metadata }),
    ...(!isStarted && { queuedAt: admission.at, queuePosition: ahead }),
  };
  return isStarted ? [admitted, { kind: 'run-started', state: 'working', attempt: 1 }] : [admitted];
};

/** The row of a new task. What it contains is in its first events. */
export const admissionRow = (admission: Admission, state: State): Omit<TaskRow, 'k'> => {
  const iso = isoOf(admission.at);
  return {
    id: admission.id,
    context_id: admission.contextId,
    status_state: state,
    status_message: null,
    status_timestamp: iso,
    created_at: iso,
    updated_at: iso,
    artifacts: '[]',
    history: '[]',
    metadata: JSON.stringify(admission.metadata),
    owner: admission.owner,
    tenant: admission.tenant,
    agent: admission.agent,
    dialect: admission.dialect,
    session: admission.session,
    direct: admission.direct ? 1 : 0,
    turns: 1,
    folded: 0,
    open: openFlag(state),
  };
};

/** The port's answer to an admission, made on the caller's side of the thread from what the step found out. */
export const assembleAdmitted = (admission: Admission, outcome: AdmitOutcome): Admitted => {
  if (outcome.again) return { task: outcome.task, events: [], again: true };
  const { task: key, lane, isStarted, ahead } = outcome;
  const news = admissionEvents(admission, isStarted, ahead);
  const row = admissionRow(admission, isStarted ? 'working' : 'submitted');
  const task = storedTask(
    row,
    { ...row, history: `[${JSON.stringify(admission.message)}]`, folded: news.length },
    isStarted ? undefined : { position: ahead, queuedAt: admission.at },
  );
  const { committed: events } = numbered(key, 1, news, admission.at, []);
  if (!isStarted) return { task, events, again: false };
  const keys = { task: key, lane, epoch: 1, turn: 1, seq: news.length };
  return { task, events, again: false, run: startedRun(admission, keys) };
};

/** The run of a turn that started in the transaction that admitted it. */
export const startedRun = (
  turn: {
    readonly id: string;
    readonly contextId: string;
    readonly owner: string;
    readonly tenant: string;
    readonly agent: string;
    readonly session: string;
    readonly message: Message;
    readonly metadata: JsonObject;
    readonly call: CallFacts;
    readonly at: number;
  },
  keys: {
    readonly task: number;
    readonly lane: number;
    readonly epoch: number;
    readonly turn: number;
    readonly seq: number;
  },
): Run => ({
  token: { taskId: turn.id, task: keys.task, lane: keys.lane, epoch: keys.epoch },
  contextId: turn.contextId,
  owner: turn.owner,
  tenant: turn.tenant,
  agent: turn.agent,
  session: turn.session,
  turn: keys.turn,
  attempt: 1,
  message: turn.message,
  metadata: turn.metadata,
  call: turn.call,
  ref: undefined,
  queuedAt: turn.at,
  startedAt: turn.at,
  cancelRequested: false,
  ended: false,
  seq: keys.seq,
});
