import { setTimeout as delay } from 'node:timers/promises';

import type { LookAhead } from '#agents';
import type { InstanceId, Run, Storage, TaskId } from '#store';

import type { AgentEntry, AgentRegistry } from './agent-registry.ts';
import { createArrivals } from './admission/arrivals.ts';
import { createDispatcher } from './dispatch/dispatcher.ts';
import type { EngineParts } from './engine-parts.ts';
import { createFeed } from './feed/feed.ts';
import type { FollowerHandler } from './followers/follower-handler.ts';
import { createFollowerLoop } from './followers/follower-loop.ts';
import { createJanitor } from './upkeep/janitor.ts';
import { createLease } from './dispatch/lease.ts';
import { createLiveRuns } from './run/live-runs.ts';
import type { EngineObserver } from './observer.ts';
import { pastOf } from './run/past.ts';
import { createPersist } from './run/persist.ts';
import type { CheckWebhook } from './service/push-configs.ts';
import { recoverRun } from './run/recovery.ts';
import { createTaskService } from './service/service.ts';
import { type EngineSettings, settingsOf } from './settings.ts';
import type { TaskService } from './service/task-service.ts';

export interface EngineOptions {
  readonly storage: Pick<Storage, 'tasks' | 'upkeep' | 'lanes' | 'pushConfigs' | 'outbox'>;
  readonly registry: AgentRegistry;
  readonly settings?: Partial<EngineSettings>;
  readonly observer?: EngineObserver;
  /** What reacts to committed events outside the store. */
  readonly followers?: readonly FollowerHandler[];
  /** Refuses webhooks that must not be called. By default, every webhook may be called. */
  readonly checkWebhook?: CheckWebhook;
  readonly now: () => number;
  /** Ids that sort by time, for tasks, contexts and messages. */
  readonly newId: () => string;
}

export interface Engine {
  readonly tasks: TaskService;
  /** Takes the lease, recovers interrupted runs, and begins to run waiting turns. */
  start(): Promise<void>;
  /**
   * Drains: starts nothing, gives runs some time, aborts the rest, and gives up the lease. Runs that are alive then
   * stay held in the store, for the instance that reaps them.
   */
  stop(): Promise<void>;
  /**
   * The store has failed for good. Aborts all runs, because nothing they say can be stored and their turns may run
   * again elsewhere. Ends all waits. `stop` and `dismiss` follow.
   */
  abandon(): void;
  /** After a stop: ends the waits for tasks, and the streams of their events. */
  dismiss(): void;
  readonly instance: string;
  isStopping(): boolean;
  runningOf(agent: string): number;
  /** Lanes or agents were paused or resumed. */
  lanesChanged(): Promise<void>;
  /** Resolves when the current runs of an agent's entry are over. Then its connector can be closed. */
  drained(entry: AgentEntry): Promise<void>;
  /** Runs the janitor now, instead of at its next interval: deadlines and retention. */
  sweep(): Promise<void>;
}

/** The answer to a claim arrives long before this, or never. */
const STRAY_MS = 30_000;
/** Where one process owns the store, the answer comes from its own thread. */
const OWN_STRAY_MS = 1000;

/** The object graph of the engine: a dispatcher that claims, runs that report, a feed that tells readers, a janitor. */
export const createEngine = (options: EngineOptions): Engine => {
  const { registry, now, newId, observer = {} } = options;
  const { tasks: store, upkeep, lanes, pushConfigs } = options.storage;
  const settings = settingsOf(options.settings);
  const stopping = new AbortController();
  let isStopping = false;
  const arrivals = createArrivals();
  const onProblem = (what: string) => (error: unknown) => observer.problem?.(what, error);

  // Where one process owns the store, this engine hears of every commit. The rare poll is a precaution.
  const feed = createFeed(store, store.exclusive ? Math.max(settings.pollMs, 15_000) : settings.pollMs);
  const persist = createPersist({ store, feed, now, observer, signal: stopping.signal });
  const lease = createLease({
    store,
    newId,
    leaseMs: settings.leaseMs,
    renewMs: settings.renewMs,
    onLost: (instance) => {
      observer.problem?.('The lease was lost; all runs are aborted', undefined, { instance });
      runs.stopAll('lost');
    },
  });

  const runs = createLiveRuns({
    store,
    runner: { settings, persist, observer, now, newId, past: (run, loss) => pastOf(store, run, loss) },
    instance: () => lease.instance,
    onOver: (run) => dispatcher.release(run.agent),
    onProblem: onProblem('A run could not read its log'),
  });

  const begin = (run: Run, instance: InstanceId, ahead?: LookAhead): void => {
    const entry = registry.find(run.agent);
    if (!lease.isValid() || instance !== lease.instance) {
      // The lease that holds the run is lost, and this instance may have a new one. The instance that reaps the run
      // decides.
      dispatcher.release(run.agent);
      return;
    }
    if (!entry) {
      // The agent was removed during the call of the store. This instance holds the run, so no other one will end it.
      dispatcher.release(run.agent);
      void recover(run);
      return;
    }
    runs.start(run, entry, (turn, io) => entry.connector.run(turn, io, ahead));
  };
  const dispatcher = createDispatcher({
    store,
    registry,
    lease,
    settings,
    now,
    onClaimed: ({ run, events }, instance) => {
      feed.publish(run.token.taskId, events);
      begin(run, instance);
    },
    onProblem: onProblem('Waiting turns could not be claimed'),
  });

  const janitor = createJanitor({
    store,
    upkeep,
    feed,
    settings,
    now,
    newId,
    onEnded: ({ id, agent, state }, reason) => observer.taskEnded?.({ agent, taskId: id, state, reason }),
    onProblem: onProblem('The janitor failed'),
  });

  const followers = (options.followers ?? []).map((handler) =>
    createFollowerLoop(options.storage.outbox, handler, () => lease.instance),
  );

  const recoverOne = (run: Run): Promise<void> =>
    recoverRun(
      {
        persist,
        settings,
        now,
        newId,
        start: (run, entry, beginning) => {
          // A recovered run has no slot yet. It counts, even beyond the limit, because it is alive already.
          dispatcher.occupy(run.agent);
          runs.start(run, entry, beginning);
        },
        isStopping: () => isStopping,
        hold: (ms) => delay(ms, true, { signal: stopping.signal, ref: false }).catch(() => false),
        ended: (run, state, reason) =>
          observer.taskEnded?.({ agent: run.agent, taskId: run.token.taskId, state, reason }),
      },
      run,
      registry.find(run.agent),
    );

  /** Tasks whose runs this instance has reaped and not decided on yet. They are held, but not live. */
  const recovering = new Set<TaskId>();
  const recover = async (run: Run): Promise<void> => {
    const { taskId } = run.token;
    recovering.add(taskId);
    await recoverOne(run).catch(onProblem('A run could not be recovered'));
    recovering.delete(taskId);
  };

  const strayMs = store.exclusive ? Math.max(OWN_STRAY_MS, settings.janitorMs) : STRAY_MS;
  const reap = async (): Promise<void> => {
    for (;;) {
      const mine = { known: [...runs.held(), ...recovering], heldBefore: now() - strayMs };
      if (isStopping || !lease.isValid()) return;
      const orphans = await store.reap(lease.instance, now(), mine);
      if (orphans.length === 0) return;
      for (const { run } of orphans) void recover(run);
    }
  };

  /**
   * Where one process owns the store, the only runs to be found are those that ended here when their end could not be
   * written. That is rare, and a service without runs must not write.
   */
  let reapedAt = performance.now();
  const reapOwn = async (): Promise<void> => {
    if (performance.now() - reapedAt < settings.janitorMs) return;
    reapedAt = performance.now();
    if ((await upkeep.counts()).running > 0) await reap();
  };

  const loadPaused = async (): Promise<void> => dispatcher.setPaused(await lanes.pausedAgents());

  const beat = async (): Promise<void> => {
    if (store.exclusive) await reapOwn();
    else {
      await reap();
      await loadPaused();
    }
    await runs.poll();
  };

  let isAbandoned = false;
  let heart: NodeJS.Timeout | undefined;
  let beating: Promise<void> = Promise.resolve();
  /** One heartbeat at a time: on a slow store, beats at a fixed rate would pile up. */
  const beatLater = (): void => {
    if (isStopping || isAbandoned) return;
    heart = setTimeout(
      () => {
        beating = beat().catch(onProblem('The heartbeat failed')).then(beatLater);
      },
      Math.min(1000, settings.pollMs),
    );
    heart.unref();
  };
  let waking: Disposable | undefined;
  const parts: EngineParts = {
    store,
    pushConfigs,
    checkWebhook: options.checkWebhook ?? (() => undefined),
    feed,
    registry,
    dispatcher,
    arrivals,
    runs,
    settings,
    observer,
    now,
    newId,
    signal: stopping.signal,
    begin,
    isStopping: () => isStopping,
  };
  return {
    tasks: createTaskService(parts),
    start: async () => {
      await lease.start();
      waking = store.onWake((ids) => {
        if (ids.length === 0) dispatcher.kick();
        feed.wake(ids);
        runs.wake(ids);
      });
      await loadPaused();
      // Reaps orphans before any claim: no claim may find their lanes idle, and a retry belongs to the head of its
      // lane.
      await reap();
      dispatcher.start();
      janitor.start();
      for (const loop of followers) loop.start();
      beatLater();
    },
    stop: async () => {
      isStopping = true;
      const claimed = dispatcher.stop();
      janitor.stop();
      clearTimeout(heart);
      // If the store does not answer, a stop waits only as long as the lease lasts: the lease expires by itself.
      const patience = () => delay(Math.max(1000, settings.leaseMs), undefined, { ref: false });
      // Messages that were accepted before the stop still start their runs. These runs get the same time as the others.
      await Promise.race([Promise.all([claimed, arrivals.none(), beating]), patience()]);
      const isIdle = runs.idle();
      await Promise.race([isIdle, delay(isAbandoned ? 0 : settings.drainMs, undefined, { ref: false })]);
      runs.stopAll('shutdown');
      await Promise.race([isIdle, delay(settings.cancelGraceMs + 1000, undefined, { ref: false })]);
      stopping.abort();
      waking?.[Symbol.dispose]();
      // The followers stop after the runs, so that they hear of the last ends, and before the lease, which their claims
      // need.
      await Promise.race([Promise.all(followers.map((loop) => loop.stop())), patience()]);
      // Runs that are alive now belong to the instance that reaps them: this instance writes nothing for them, and
      // frees no lane.
      runs.stopAll('lost');
      await Promise.race([lease.stop().catch(onProblem('The lease could not be given up')), patience()]);
    },
    abandon: () => {
      isAbandoned = true;
      clearTimeout(heart);
      void dispatcher.stop();
      janitor.stop();
      for (const loop of followers) void loop.stop();
      // Ends the retries of writes. This comes before the abort of the runs, so that no run begins a retry.
      stopping.abort();
      runs.stopAll('lost');
      feed.close();
    },
    dismiss: () => feed.close(),
    get instance() {
      return lease.instance;
    },
    isStopping: () => isStopping,
    runningOf: (agent) => dispatcher.runningOf(agent),
    lanesChanged: loadPaused,
    drained: (entry) => runs.idle(entry),
    sweep: () => janitor.sweep(),
  };
};
