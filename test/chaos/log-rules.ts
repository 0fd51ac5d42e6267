import { canMove, type Event, isTerminal, type State, textOf } from '#domain';

import { readChunk } from './audited-agent.ts';
import type { Rule, TaskEvidence } from './evidence.ts';
import { type LoggedAttempt, type LoggedTurn, turnsOf } from './turns-of.ts';

/** Every task's log by itself: numbered without gap, in a legal order, ended once, written by the current run alone. */
export const logRules: Rule = ({ tasks }) =>
  tasks.flatMap((task) =>
    [...numbering(task), ...moves(task), ...turnsOf(task.events).flatMap((turn) => writers(task, turn))].map(
      (problem) => `Task ${task.id}: ${problem}`,
    ),
  );

const numbering = ({ events, lastSeq }: TaskEvidence): string[] => {
  const problems: string[] = [];
  for (const [index, { seq }] of events.entries()) {
    if (seq !== index + 1) {
      problems.push(`event ${index + 1} is missing; event ${seq} stands in its place.`);
      break;
    }
  }
  const last = events.at(-1)?.seq ?? 0;
  if (last !== lastSeq) problems.push(`its log ends with event ${last}, but the task says ${lastSeq}.`);
  return problems;
};

const stateAfter = (before: State, { event }: Event): State => (event.kind === 'artifact-added' ? before : event.state);

const moves = ({ events, state, statusAt }: TaskEvidence): string[] => {
  const problems: string[] = [];
  const [first] = events;
  if (first?.event.kind !== 'task-admitted') problems.push('its first event is not its admission.');
  let now: State = 'submitted';
  for (const event of events.slice(1)) {
    const next = stateAfter(now, event);
    if (isTerminal(now)) problems.push(`event ${event.seq} (${event.event.kind}) follows its end as ${now}.`);
    else if (!canMove(now, next)) problems.push(`event ${event.seq} moves it from ${now} to ${next}.`);
    now = next;
  }
  if (now !== state) problems.push(`it is shown as ${state}, but its log says ${now}.`);
  const status = events.findLast(({ event }) => event.kind !== 'artifact-added');
  if (status && status.at !== statusAt) problems.push(`its status is of ${statusAt}, but its log says ${status.at}.`);
  return problems;
};

/** Attempts count up, each after the loss of the one before; whatever a run wrote carries the current attempt. */
const writers = (task: TaskEvidence, { number, attempts, end }: LoggedTurn): string[] => {
  const problems: string[] = [];
  for (const [index, attempt] of attempts.entries()) {
    const place = `turn ${number}, attempt ${attempt.attempt}`;
    if (attempt.attempt !== index + 1) problems.push(`${place} is the ${index + 1}th that started.`);
    const lost = attempt.events.findIndex(({ event }) => event.kind === 'run-lost');
    if (lost < 0 && index + 1 < attempts.length) problems.push(`${place} was followed by another but never lost.`);
    if (lost >= 0 && attempt.events.slice(lost).some(({ event }) => event.kind === 'artifact-added')) {
      problems.push(`${place} was lost and wrote all the same.`);
    }
    problems.push(...chunksOf(attempt, place));
  }
  const last = attempts.at(-1);
  if (end?.event.kind === 'turn-ended' && end.event.metadata?.['attempt'] !== undefined) {
    const { attempt, chunks } = end.event.metadata;
    if (attempt !== last?.attempt) {
      problems.push(
        `turn ${number} was ended by attempt ${JSON.stringify(attempt)}, but attempt ${last?.attempt} was current.`,
      );
    }
    if (chunks !== undefined && last) problems.push(...answerOf(task, number, last, Number(chunks)));
  }
  return problems;
};

const chunkTexts = ({ events }: LoggedAttempt): readonly string[] =>
  events.flatMap(({ event }) => (event.kind === 'artifact-added' ? [textOf(event.artifact.parts)] : []));

/** The first chunk that is out of its place; those behind it are out of theirs as well. */
const chunksOf = (attempt: LoggedAttempt, place: string): string[] => {
  for (const [index, text] of chunkTexts(attempt).entries()) {
    const chunk = readChunk(text);
    if (chunk?.attempt !== attempt.attempt)
      return [`${place} has the chunk "${text.slice(0, 20)}" of another attempt.`];
    if (chunk.chunk !== index + 1) return [`${place} has chunk ${chunk.chunk} where chunk ${index + 1} belongs.`];
  }
  return [];
};

/** A completed turn has its whole answer, in the log and in the task. */
const answerOf = (task: TaskEvidence, turn: number, attempt: LoggedAttempt, chunks: number): string[] => {
  const said = chunkTexts(attempt);
  if (said.length !== chunks) return [`turn ${turn} answered in ${chunks} chunks, but its log has ${said.length}.`];
  const shown = task.artifacts.find(({ artifactId }) => artifactId === `answer-${turn}`)?.text;
  return shown === said.join('') ? [] : [`turn ${turn} answered ${chunks} chunks, but the task shows another answer.`];
};
