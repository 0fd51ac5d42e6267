import { type Event, isTerminal, type State, textOf } from '#domain';

import { type Evidence, type Rule, stateOfWire, type TaskEvidence } from './evidence.ts';

/** What clients were told is there, and as it was told. */
export const promiseRules: Rule = (evidence) => {
  const { ledger } = evidence;
  const byId = new Map(evidence.tasks.map((task) => [task.id, task]));
  return [
    ...ledger.problems,
    ...messages(evidence, byId),
    ...[...ledger.events].flatMap(([id, told]) =>
      [...told].flatMap(([seq, frame]) => event(byId.get(id), id, seq, frame)),
    ),
    ...[...ledger.states].flatMap(([id, states]) => [...states].flatMap((state) => wasIn(byId.get(id), id, state))),
  ];
};

const messages = ({ ledger, tasks }: Evidence, byId: ReadonlyMap<string, TaskEvidence>): readonly string[] => {
  const problems: string[] = [];
  const carriers = new Map<string, string[]>();
  for (const task of tasks) {
    for (const messageId of task.messageIds) carriers.set(messageId, [...(carriers.get(messageId) ?? []), task.id]);
  }
  for (const { messageId, taskId, text } of ledger.sent) {
    const found = carriers.get(messageId) ?? [];
    if (found.length > 1) problems.push(`Message ${messageId} was sent under one key and is in ${found.length} tasks.`);
    if (taskId === undefined) continue;
    const task = byId.get(taskId);
    if (!task) problems.push(`Task ${taskId} ("${text}") was acknowledged and is missing.`);
    else if (!found.includes(taskId))
      problems.push(`Message ${messageId} was acknowledged and is not in task ${taskId}.`);
  }
  return problems;
};

interface Told {
  readonly task?: { readonly status: { readonly state: string } };
  readonly statusUpdate?: { readonly status: { readonly state: string; readonly timestamp: string } };
  readonly artifactUpdate?: { readonly artifact: { readonly parts: readonly { text?: string }[] } };
}

const event = (task: TaskEvidence | undefined, id: string, seq: number, frame: unknown): readonly string[] => {
  if (!task) return [`Event ${seq} of task ${id} was told, and the task is missing.`];
  const stored = task.events.find((candidate) => candidate.seq === seq);
  if (!stored) return [`Event ${seq} of task ${id} was told and is missing; its log ends at ${task.events.length}.`];
  const told = frame as Told;
  return isSame(task, stored, told)
    ? []
    : [
        `Event ${seq} of task ${id} was told as ${JSON.stringify(told).slice(0, 200)}, and is ${JSON.stringify(stored).slice(0, 200)}.`,
      ];
};

const isSame = (task: TaskEvidence, stored: Event, { task: snapshot, statusUpdate, artifactUpdate }: Told): boolean => {
  if (snapshot) return stateOfWire(snapshot.status.state) === stateAt(task, stored.seq);
  const fact = stored.event;
  if (artifactUpdate) {
    return fact.kind === 'artifact-added' && textOf(fact.artifact.parts) === textOf(artifactUpdate.artifact.parts);
  }
  if (!statusUpdate || fact.kind === 'artifact-added') return false;
  const { state, timestamp } = statusUpdate.status;
  return stateOfWire(state) === fact.state && timestamp === stored.at;
};

const stateAt = ({ events }: TaskEvidence, seq: number): State | undefined => {
  const last = events.findLast((candidate) => candidate.seq <= seq && candidate.event.kind !== 'artifact-added');
  return last && last.event.kind !== 'artifact-added' ? last.event.state : undefined;
};

const wasIn = (task: TaskEvidence | undefined, id: string, state: string): readonly string[] => {
  if (!task) return [`Task ${id} was said to be ${state}, and is missing.`];
  if (isTerminal(state as State) && task.state !== state)
    return [`Task ${id} was said to have ended as ${state}, and is ${task.state}.`];
  const states = task.events.map(({ event: fact }) => (fact.kind === 'artifact-added' ? undefined : fact.state));
  return states.includes(state as State) ? [] : [`Task ${id} was said to be ${state}, and never was.`];
};

/** The log of a task only grows, and one that has ended stays as it is. */
export const memoryRules: Rule = ({ tasks, memory }) => {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const problems: string[] = [];
  for (const [id, seen] of memory) {
    const task = byId.get(id);
    if (!task) {
      problems.push(`Task ${id} was there at the last check and is missing.`);
      continue;
    }
    const changed = seen.events.findIndex((text, index) => text !== JSON.stringify(task.events[index]));
    if (changed >= 0) problems.push(`Event ${changed + 1} of task ${id} has changed or gone since the last check.`);
    if (isTerminal(seen.state) && (task.state !== seen.state || task.events.length !== seen.events.length)) {
      problems.push(`Task ${id} had ended as ${seen.state}, and is ${task.state} after ${task.events.length} events.`);
    }
  }
  for (const { id, state, events } of tasks)
    memory.set(id, { state, events: events.map((one) => JSON.stringify(one)) });
  return problems;
};
