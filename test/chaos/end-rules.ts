import { isTerminal } from '#domain';

import type { Evidence, Rule, TaskEvidence } from './evidence.ts';
import { auditedRuns, type AuditedRun } from './lane-rules.ts';
import { type LoggedTurn, turnsOf } from './turns-of.ts';

/** How many attempts a turn gets where its agent may be tried again. */
const MAX_ATTEMPTS = 3;

/** After things have settled: everything has ended, as it should have, and nothing is held. */
export const endRules: Rule = (evidence) => {
  const runs = Map.groupBy(auditedRuns(evidence.audit), ({ task }) => task);
  return [
    ...evidence.tasks.flatMap((task) =>
      ending(task, runs.get(task.id) ?? [], evidence).map(
        (problem) => `Task ${task.id} (agent ${task.agent}) ${problem}`,
      ),
    ),
    ...evidence.lanes.map(
      ({ key, waiting, running }) => `Lane ${key} is not empty: ${waiting} waiting, running ${running ?? 'nothing'}.`,
    ),
  ];
};

const ending = (task: TaskEvidence, runs: readonly AuditedRun[], evidence: Evidence): readonly string[] => {
  const { ledger } = evidence;
  const last = turnsOf(task.events).at(-1);
  if (!last) return ['has no turn.'];
  const isAsked = task.events.some(({ event }) => event.kind === 'cancel-requested');
  if ((isAsked || ledger.cancels.has(task.id)) && task.state !== 'canceled') {
    return [`was canceled while it was open, and is ${task.state}.`];
  }
  if (task.state === 'input-required')
    return last.order === 'ask' ? [] : [`waits for an answer, but was told to ${last.order}.`];
  if (!isTerminal(task.state))
    return [`is stuck: it is ${task.state}, its last event is ${JSON.stringify(task.events.at(-1))}.`];
  if (runs.some((run) => run.to === undefined && !evidence.disturbances.touched(run.pid))) {
    return [`has ended as ${task.state}, but a run of it still goes on.`];
  }
  if (task.state === 'failed') return failure(task, last, runs, evidence);
  if (task.state === 'canceled') {
    return ledger.cancelsTried.has(task.id) ? [] : ['is canceled, and nobody asked for that.'];
  }
  if (task.state !== 'completed') return [`ended as ${task.state}, which nobody ordered.`];
  return ['work', 'stubborn', 'huge'].includes(last.order) ? [] : [`completed, but was told to ${last.order}.`];
};

const failure = (
  task: TaskEvidence,
  turn: LoggedTurn,
  runs: readonly AuditedRun[],
  evidence: Evidence,
): readonly string[] => {
  const reason = turn.end?.event.kind === 'turn-ended' ? (turn.end.event.reason ?? 'none') : 'none';
  if (reason === 'ordered') return turn.order === 'fail' ? [] : [`failed as ordered, but was told to ${turn.order}.`];
  if (reason === 'timeout' && evidence.mayTimeOut) return [];
  if (reason !== 'interrupted') return [`failed with reason ${reason}.`];
  const last = turn.attempts.at(-1);
  if (!last) return ['failed as interrupted and never started.'];
  if (task.agent === 'retry' && last.attempt < MAX_ATTEMPTS) {
    return [`failed as interrupted after attempt ${last.attempt}, and had ${MAX_ATTEMPTS}.`];
  }
  const run = runs.find((one) => one.turn === turn.number && one.attempt === last.attempt);
  // A process that gets no time from a busy machine may lose its lease by itself; then its run has said so.
  const isExcused = run
    ? evidence.disturbances.touched(run.pid) || run.how === 'aborted: lost'
    : evidence.disturbances.any;
  return isExcused ? [] : ['failed as interrupted, and nothing had happened to its process.'];
};
