import type { AuditLine } from './audit-log.ts';
import type { Disturbances } from './disturbances.ts';
import type { Evidence, Rule, TaskEvidence } from './evidence.ts';
import { turnsOf } from './turns-of.ts';

/** A run as it has written it down itself. */
export interface AuditedRun {
  readonly pid: number;
  readonly lane: string;
  readonly task: string;
  readonly turn: number;
  readonly attempt: number;
  readonly from: number;
  /** Absent: it was still going on when its process was killed, or still is. */
  readonly to: number | undefined;
  readonly how: string | undefined;
  readonly steps: readonly number[];
}

/** One run at a time in a lane, each attempt once, turns in the order in which they were admitted. */
export const laneRules: Rule = (evidence) => {
  const runs = auditedRuns(evidence.audit);
  return [...overlaps(runs, evidence.disturbances), ...repeats(runs, evidence.tasks), ...order(evidence, runs)];
};

const nameOf = ({ task, turn, attempt, pid }: AuditedRun): string =>
  `task ${task} (turn ${turn}, attempt ${attempt}, process ${pid})`;

export const auditedRuns = (audit: readonly AuditLine[]): readonly AuditedRun[] => {
  const runs: { -readonly [K in keyof AuditedRun]: AuditedRun[K] }[] = [];
  const open = new Map<string, (typeof runs)[number]>();
  for (const { what, at, pid, lane, task, turn, attempt, how } of audit) {
    const key = `${pid} ${task} ${turn} ${attempt}`;
    if (what === 'start') {
      const run = { pid, lane, task, turn, attempt, from: at, to: undefined, how: undefined, steps: [] };
      open.set(key, run);
      runs.push(run);
      continue;
    }
    const run = open.get(key);
    if (!run) continue;
    if (what === 'step') run.steps = [...run.steps, at];
    else {
      run.to = at;
      run.how = how;
      open.delete(key);
    }
  }
  return runs;
};

/**
 * A process that has slept cannot know it before it is awake: the timers that were due are served first. So a run that
 * ends within this time of its waking, with no more than the one step that was due, did not run beside anybody.
 */
const WAKING_MS = 500;

/** When a run was really working: not while its process stood still, and not after its process was killed. */
const spansOf = (run: AuditedRun, disturbances: Disturbances): readonly { from: number; to: number }[] => {
  const end = run.to ?? Math.max(run.from, disturbances.killTime(run.pid) ?? Infinity);
  let spans = [{ from: run.from, to: end }];
  for (const pause of disturbances.pausesOf(run.pid)) {
    spans = spans.flatMap((span) => {
      if (pause.to <= span.from || pause.from >= span.to) return [span];
      const before = { from: span.from, to: pause.from };
      const after = { from: pause.to, to: span.to };
      const isOver = after.to - after.from <= WAKING_MS && run.steps.filter((at) => at >= after.from).length <= 1;
      return isOver ? [before] : [before, after];
    });
  }
  return spans.filter(({ from, to }) => to >= from);
};

const overlaps = (runs: readonly AuditedRun[], disturbances: Disturbances): readonly string[] => {
  const problems: string[] = [];
  for (const lane of Map.groupBy(runs, ({ lane }) => lane).values()) {
    const spans = lane
      .flatMap((run) => spansOf(run, disturbances).map((span) => ({ run, ...span })))
      .sort((a, b) => a.from - b.from);
    let longest: (typeof spans)[number] | undefined;
    for (const span of spans) {
      if (longest && span.from < longest.to && span.run !== longest.run) {
        const until =
          longest.to === Infinity ? 'and still does' : `for another ${(longest.to - span.from).toFixed(1)} ms`;
        problems.push(
          `Two runs at once in lane ${span.run.lane}: ${nameOf(span.run)} started while ${nameOf(longest.run)} ran ${until}.`,
        );
      }
      if (!longest || span.to > longest.to) longest = span;
    }
  }
  return problems;
};

/** Every run that an agent saw is in the log, and no attempt was given to an agent twice. */
const repeats = (runs: readonly AuditedRun[], tasks: readonly TaskEvidence[]): readonly string[] => {
  const problems: string[] = [];
  const logged = new Set(
    tasks.flatMap((task) =>
      turnsOf(task.events).flatMap(({ number, attempts }) =>
        attempts.map(({ attempt }) => `${task.id} ${number} ${attempt}`),
      ),
    ),
  );
  for (const [key, same] of Map.groupBy(runs, ({ task, turn, attempt }) => `${task} ${turn} ${attempt}`)) {
    const [run] = same;
    if (run && same.length > 1)
      problems.push(`The same attempt ran ${same.length} times: ${same.map(nameOf).join(', ')}.`);
    if (run && !logged.has(key))
      problems.push(`An agent was given ${nameOf(run)}, but the log knows of no such start.`);
  }
  return problems;
};

/**
 * The client of a lane sends one message after the other. So a message that was acknowledged was admitted before every
 * later one, and its task must have started before theirs. A task that never started (canceled in the queue) is passed
 * over; a message without an answer may have been admitted late, so it binds only those before it.
 */
const order = ({ ledger, tasks }: Evidence, runs: readonly AuditedRun[]): readonly string[] => {
  const problems: string[] = [];
  const byMessage = new Map(tasks.flatMap((task) => task.messageIds.slice(0, 1).map((id) => [id, task.id] as const)));
  const starts = new Map(runs.toReversed().map(({ task, from }) => [task, from]));
  const fresh = ledger.sent.filter(({ answers }) => answers === undefined);
  for (const [lane, sent] of Map.groupBy(fresh, ({ lane }) => lane)) {
    let latest: { readonly task: string; readonly at: number } | undefined;
    for (const { messageId, taskId } of sent.toSorted((a, b) => a.order - b.order)) {
      const task = byMessage.get(messageId);
      const at = task === undefined ? undefined : starts.get(task);
      if (task === undefined || at === undefined) continue;
      if (latest && at < latest.at) {
        const early = (latest.at - at).toFixed(1);
        problems.push(
          `In lane ${lane} task ${task} started ${early} ms before task ${latest.task}, which was admitted earlier.`,
        );
      }
      if (taskId !== undefined && (!latest || at > latest.at)) latest = { task, at };
    }
  }
  return problems;
};
