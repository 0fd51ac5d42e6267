import { BriefMap, type Event } from '#domain';
import type { InstanceId, Run, TaskId, TaskStore } from '#store';

import type { AgentEntry } from './agent-registry.ts';
import type { EarlyPersist } from './early-persist.ts';
import type { StopReason } from './run-end.ts';
import { type Beginning, type LiveRun, type RunnerDeps, startRun } from './runner.ts';

/** The runs of this instance, by task. */
export interface LiveRuns {
  /** `early`: how a run writes that begins before its task is stored. */
  start(run: Run, entry: AgentEntry, begin: Beginning, early?: EarlyPersist): LiveRun;
  /** True: a run of this session is alive here. */
  isBusy(session: string): boolean;
  /** A turn of this session is about to be stored: a run that has begun before it has its task stored first. */
  goFirst(session: string): void;
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
  /** How many runs each session has here. More than one: only one of them holds the lane. */
  const sessions = new BriefMap<{ runs: number; early: EarlyPersist | undefined }>();
  /** Runs in vain that are not dead yet, though another of their task has begun. */
  const outlived = new Set<LiveRun>();
  /** Runs whose log has something for them that could not be read yet. */
  const behind = new WeakSet<LiveRun>();

  const all = (): readonly LiveRun[] => [...runs.values(), ...outlived];

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
    start: (run, entry, begin, early) => {
      const { taskId } = run.token;
      const before = runs.get(taskId);
      if (before) outlived.add(before);
      const live = startRun(early ? { ...options.runner, persist: early } : options.runner, entry, run, begin);
      runs.set(taskId, live);
      const session = sessions.get(run.session) ?? { runs: 0, early };
      session.runs += 1;
      sessions.set(run.session, session);
      void live.over.then(() => {
        if (runs.get(taskId) === live) runs.delete(taskId);
        else outlived.delete(live);
        session.runs -= 1;
        if (session.runs === 0) sessions.delete(run.session);
        options.onOver(run);
      });
      return live;
    },
    isBusy: (session) => sessions.get(session) !== undefined,
    goFirst: (session) => sessions.get(session)?.early?.admitNow(),
    observe: (id, events) => {
      const live = runs.get(id);
      if (!live || (events.at(-1)?.seq ?? 0) <= live.seenSeq) return;
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
      for (const live of all()) live.stop(reason);
    },
    idle: async (entry) => {
      const waited = all().filter((live) => entry === undefined || live.entry === entry);
      await Promise.all(waited.map((live) => live.over));
    },
    ids: () => runs.keys(),
  };
};
