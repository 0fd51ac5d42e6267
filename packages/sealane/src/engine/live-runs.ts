import { BriefMap, type Event } from '#domain';
import type { InstanceId, Run, TaskId, TaskStore } from '#store';

import type { AgentEntry } from './agent-registry.ts';
import type { Beginning, LiveRun, RunnerDeps } from './live-run.ts';
import type { StopReason } from './run-end.ts';
import { startRun } from './runner.ts';

/** The runs of this instance, by task and epoch: a lost run that is still alive and its successor are two entries. */
export interface LiveRuns {
  start(run: Run, entry: AgentEntry, begin: Beginning): LiveRun;
  /** Committed events that a live run may have to know of. */
  observe(id: TaskId, events: readonly Event[]): void;
  /** Hints from other instances: runs of these tasks look into their logs. */
  wake(ids: readonly TaskId[]): void;
  stopAll(reason: StopReason): void;
  /** Resolves when everything that runs now, or everything of one agent, is over. */
  idle(entry?: AgentEntry): Promise<void>;
  /** The tasks whose runs this instance knows to hold. */
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
  /** Runs whose log has events for them that could not be read yet. */
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
        // log. So a run reads messages from the log; nothing that came before a cancel matters any more.
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
      // Needed with a single process, too: a cancel may be committed together with the start of its turn, and its
      // answer may arrive before that of the claim.
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
