import { BriefMap, type Event } from '#domain';
import type { InstanceId, Run, TaskId, TaskStore } from '#store';

import type { AgentEntry } from './agent-registry.ts';
import type { StopReason } from './run-end.ts';
import { type Beginning, type LiveRun, type RunnerDeps, startRun } from './runner.ts';

/** The runs of this instance, by task. */
export interface LiveRuns {
  start(run: Run, entry: AgentEntry, begin: Beginning): void;
  /** Committed events that a live run may have to know of. */
  observe(id: TaskId, events: readonly Event[]): void;
  /** Hints from other instances: runs of these tasks look into their logs. */
  wake(ids: readonly TaskId[]): void;
  stopAll(reason: StopReason): void;
  /** Resolves when everything that runs now, or everything of one agent, is over. */
  idle(entry?: AgentEntry): Promise<void>;
  ids(): Iterable<TaskId>;
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
  const runs = new BriefMap<LiveRun>();
  /** Runs whose log has something for them that could not be read yet. */
  const behind = new WeakSet<LiveRun>();

  /** A run follows its log from the number of its claim, so an early cancel or answer is never missed. */
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
    for (const id of ids) {
      const live = runs.get(id);
      if (live) lookIntoLog(live).catch(options.onProblem);
    }
  };

  return {
    start: (run, entry, begin) => {
      const live = startRun(options.runner, entry, run, begin);
      runs.set(run.token.taskId, live);
      void live.over.then(() => {
        if (runs.get(run.token.taskId) === live) runs.delete(run.token.taskId);
        options.onOver(run);
      });
    },
    observe: (id, events) => {
      const live = runs.get(id);
      if (!live || events.length === 0) return;
      // The answers of a shared store overtake each other: a message that is heard of first may be the second in the
      // log. So the log is asked for messages; nothing that came before a cancel matters any more.
      const isHeardInOrder = store.exclusive || events.some(({ event }) => event.kind === 'cancel-requested');
      if (isHeardInOrder) live.observe(events);
      else lookIntoLog(live).catch(options.onProblem);
    },
    wake,
    /**
     * Behind lost hints: cancels of runs held here, answers to those that wait for one, messages to those that take
     * them at any time, and logs that were not read.
     */
    poll: async () => {
      if (runs.size === 0) return;
      // Also where nobody else writes: a cancel may be committed together with the start of its turn, and heard first.
      wake(await store.interventions(options.instance()));
      if (store.exclusive) return;
      wake(
        runs
          .values()
          .filter((live) => live.isAsking || live.entry.connector.steerable === true || behind.has(live))
          .map((live) => live.run.token.taskId),
      );
    },
    stopAll: (reason) => {
      for (const live of runs.values()) live.stop(reason);
    },
    idle: async (entry) => {
      const waited = runs.values().filter((live) => entry === undefined || live.entry === entry);
      await Promise.all(waited.map((live) => live.over));
    },
    ids: () => runs.keys(),
  };
};
