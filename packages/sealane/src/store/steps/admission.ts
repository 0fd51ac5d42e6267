import type { JsonObject, Message, NewEvent } from '#domain';

import type { Admission, Admitted, CallFacts, Run, StoredTask } from '../task-store.ts';
import type { NewTask } from './commit-events.ts';
import { isoOf, numbered } from './event-text.ts';

// What an admission writes, and what its caller gets. Both sides of the store's thread compute it, so that little data
// has to cross between them.

/** The part of the answer that the caller does not know already. `assembleAdmitted` makes the port's answer of it. */
export type AdmitOutcome =
  | { readonly again: true; readonly task: StoredTask }
  | {
      readonly again: false;
      readonly task: number;
      readonly lane: number;
      readonly isStarted: boolean;
      readonly ahead: number;
    };

/** The first events of a task: admitted, and started if its lane was idle. */
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

/** The row of a new task. Its content is in its first events. */
export const newTask = (admission: Admission): NewTask => ({
  id: admission.id,
  context_id: admission.contextId,
  metadata: JSON.stringify(admission.metadata),
  owner: admission.owner,
  tenant: admission.tenant,
  agent: admission.agent,
  dialect: admission.dialect,
  session: admission.session,
  direct: admission.direct ? 1 : 0,
  turns: 1,
});

export const assembleAdmitted = (admission: Admission, outcome: AdmitOutcome): Admitted => {
  if (outcome.again) return { task: outcome.task, events: [], again: true };
  const { task: key, lane, isStarted, ahead } = outcome;
  const news = admissionEvents(admission, isStarted, ahead);
  const events = numbered(1, news, admission.at);
  const iso = isoOf(admission.at);
  const task: StoredTask = {
    id: admission.id,
    contextId: admission.contextId,
    owner: admission.owner,
    tenant: admission.tenant,
    agent: admission.agent,
    dialect: admission.dialect,
    lane: admission.session,
    direct: admission.direct,
    state: isStarted ? 'working' : 'submitted',
    statusAt: iso,
    createdAt: iso,
    updatedAt: iso,
    seq: news.length,
    statusMessage: null,
    artifacts: '[]',
    history: `[${JSON.stringify(admission.message)}]`,
    metadata: JSON.stringify(admission.metadata),
    ...(!isStarted && { queuePosition: ahead, queuedAt: admission.at }),
  };
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
  drains: 0,
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
