import { BriefMap, type Event } from '#domain';
import type { InstanceId, Run, TaskId, TaskStore } from '#store';

import type { AgentEntry } from '../agent-registry.ts';
import type { Beginning, LiveRun, RunnerDeps } from './live-run.ts';
import type { StopReason } from './run-end.ts';
import { startRun } from './runner.ts';

/** The runs of this instance. A lost run that is still alive and its successor are two runs of the same task. */
export interface LiveRuns {
  start(run: Run, entry: AgentEntry, begin: Beginning): LiveRun;
  /** Tells the live runs of a task about committed events. */
  observe(id: TaskId, events: readonly Event[]): void;
  /** A hint from other instances: the runs of these tasks read their logs. */
  wake(ids: readonly TaskId[]): void;
  stopAll(reason: StopReason): void;
  /** Resolves when all runs that exist now, or those of one agent, are over. */
  idle(entry?: AgentEntry): Promise<void>;
  /** The tasks of the runs that this instance holds. */
  held(): readonly TaskId[];
}

const PAGE = 256;

export const createLiveRuns = (options: {
  readonly store: TaskStore;
  readonly runner: RunnerDeps;
  readonly instance: () => InstanceId;
  readonly onOver: (run: Run) => void;
  readonly onProblem: (error: unknown) => void;
}): LiveRuns & { poll(): Promise<void> } => {
  const { store } = options;
  /** The live runs of each task, at most one of each epoch. */
  const runs = new BriefMap<readonly LiveRun[]>();
  /** Runs that have not yet read the latest events of their logs. */
  const behind = new WeakSet<LiveRun>();

  const all = (): readonly LiveRun[] => runs.values().flat();
  const held = (): readonly LiveRun[] => all().filter((live) => !live.isLost);
  const of = (id: TaskId): readonly LiveRun[] => runs.get(id) ?? NONE;

  const remove = (live: LiveRun): void => {
    const { taskId } = live.run.token;
    const others = of(taskId).filter((other) => other !== live);
    if (others.length > 0) runs.set(taskId, others);
    else runs.delete(taskId);
  };

  /** A run follows its log from the number of its claim, so it never misses an early cancel or answer. */
  const lookIntoLog = async (live: LiveRun): Promise<void> => {
    behind.add(live);
    for (;;) {
      const events = await store.read('all', live.run.token.taskId, live.seenSeq, PAGE);
      live.observe(events);
      if (events.length < PAGE) break;
    }
    behind.delete(live);
  };
  const wake = (ids: readonly TaskId[]): void => {
    for (const live of ids.flatMap(of)) lookIntoLog(live).catch(options.onProblem);
  };

  return {
    start: (run, entry, begin) => {
      const { taskId } = run.token;
      const live = startRun(options.runner, entry, run, begin);
      runs.set(taskId, [...of(taskId), live]);
      void live.over.then(() => {
        remove(live);
        options.onOver(run);
      });
      return live;
    },
    observe: (id, events) => {
      for (const live of of(id)) {
        if ((events.at(-1)?.seq ?? 0) <= live.seenSeq) continue;
        // The answers of a shared store overtake each other: the message that arrives first may be the second in the
        // log. So a run reads messages from the log. After a cancel, no earlier event matters.
        const isHeardInOrder = store.exclusive || events.some(({ event }) => event.kind === 'cancel-requested');
        if (isHeardInOrder) live.observe(events);
        else lookIntoLog(live).catch(options.onProblem);
      }
    },
    wake,
    /**
     * A fallback for lost hints: cancels of runs held here, answers to runs that wait for one, messages to runs that
     * take them at any time, and logs that could not be read.
     */
    poll: async () => {
      if (runs.size === 0) return;
      // A single process needs this, too: a cancel may be committed together with the start of its turn, and the answer
      // to the cancel may arrive before the answer to the claim.
      wake(await store.interventions(options.instance()));
      if (store.exclusive) return;
      for (const live of all()) {
        const mayHaveNews = live.isAsking || live.entry.connector.steerable === true || behind.has(live);
        if (mayHaveNews) lookIntoLog(live).catch(options.onProblem);
      }
    },
    stopAll: (reason) => {
      for (const live of all()) live.stop(reason);
    },
    idle: async (entry) => {
      const waited = all().filter((live) => entry === undefined || live.entry === entry);
      await Promise.all(waited.map((live) => live.over));
    },
    held: () => held().map((live) => live.run.token.taskId),
  };
};

const NONE: readonly LiveRun[] = [];
