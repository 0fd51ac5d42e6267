import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';

import type { EngineObserver } from '#engine';
import type { HttpMetrics } from '#http';
import type { PushObserver } from '#push';
import type { Storage, StoreCounts } from '#store';

import { createCounts, createTimes } from './plain-metrics.ts';

export interface Metrics {
  readonly http: HttpMetrics;
  readonly observer: EngineObserver;
  readonly push: PushObserver;
}

/** Everything `/metrics` tells. Labels are names of agents, states and methods; never ids, texts or addresses. */
export const createMetrics = (storage: Pick<Storage, 'upkeep' | 'onCommit'>, now: () => number): Metrics => {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 10 });

  const admittedOf = createCounts(registry, {
    name: 'sealane_tasks_admitted_total',
    help: 'Messages taken in as a turn, by agent',
    labelNames: ['agent', 'queued'],
  });
  const refused = new Counter({
    name: 'sealane_tasks_refused_total',
    help: 'Messages refused before a task existed, by reason',
    labelNames: ['agent', 'why'],
    registers,
  });
  const finishedOf = createCounts(registry, {
    name: 'sealane_tasks_finished_total',
    help: 'Turns that ended, by agent and state',
    labelNames: ['agent', 'state', 'reason'],
  });
  const inFlight: Record<string, number> = {};
  const countRun = (agent: string, change: 1 | -1): void => {
    inFlight[agent] = (inFlight[agent] ?? 0) + change;
  };
  const running: Gauge = new Gauge({
    name: 'sealane_runs',
    help: 'Runs of this instance now, by agent',
    labelNames: ['agent'],
    registers,
    collect: () => Object.entries(inFlight).forEach(([agent, runs]) => running.set({ agent }, runs)),
  });
  const runOf = createTimes(registry, {
    name: 'sealane_run_seconds',
    help: 'How long runs took, by agent and outcome',
    labelNames: ['agent', 'state'],
  });
  const waitOf = createTimes(registry, {
    name: 'sealane_wait_seconds',
    help: 'How long turns waited in their lane, by agent',
    labelNames: ['agent'],
  });
  const events = createCounts(registry, { name: 'sealane_events_total', help: 'Events appended by runs' })();
  const lagSeconds = createTimes(registry, {
    name: 'sealane_event_lag_seconds',
    help: "From an agent's word to its durable commit",
  })();
  const commitSeconds = createTimes(registry, {
    name: 'sealane_commit_seconds',
    help: 'How long the store took for a commit',
  })();
  const callsOf = createTimes(registry, {
    name: 'sealane_call_seconds',
    help: 'JSON-RPC calls by method and outcome',
    labelNames: ['method', 'outcome'],
  });
  const answersOf = createCounts(registry, {
    name: 'sealane_http_answers_total',
    help: 'HTTP answers by route and status',
    labelNames: ['route', 'status'],
  });
  const streams = new Gauge({ name: 'sealane_streams', help: 'Open event streams', registers });
  const problems = new Counter({
    name: 'sealane_problems_total',
    help: 'Problems that were logged',
    labelNames: ['what'],
    registers,
  });
  const deliveries = new Counter({
    name: 'sealane_push_deliveries_total',
    help: 'Events sent to webhooks, by what came of it',
    labelNames: ['outcome'],
    registers,
  });
  // One look into the store for all that a scrape wants of it; while the store is away, the last numbers stay.
  let look: Promise<StoreCounts | undefined> | undefined;
  const set = (gauge: Gauge, valueOf: (counts: StoreCounts) => number): Promise<void> => {
    look ??= storage.upkeep
      .counts()
      .then(
        (counts) => counts,
        () => undefined,
      )
      .finally(() => (look = undefined));
    return look.then((counts) => counts && gauge.set(valueOf(counts)));
  };
  const ageOf = ({ oldestWaitingSince }: StoreCounts): number =>
    oldestWaitingSince === null ? 0 : Math.max(0, now() - oldestWaitingSince) / 1000;
  const queued: Gauge = new Gauge({
    name: 'sealane_turns_waiting',
    help: 'Turns that wait in lanes, all instances',
    registers,
    collect: () => set(queued, ({ waiting }) => waiting),
  });
  const held: Gauge = new Gauge({
    name: 'sealane_turns_running',
    help: 'Turns held by a run, all instances',
    registers,
    collect: () => set(held, ({ running }) => running),
  });
  const queueAge: Gauge = new Gauge({
    name: 'sealane_queue_age_seconds',
    help: 'How long the oldest waiting turn has waited',
    registers,
    collect: () => set(queueAge, ageOf),
  });
  storage.onCommit((ms) => commitSeconds.add(ms / 1000));

  return {
    http: {
      answered: (route, status) => answersOf(route, String(status)).add(),
      called: (method, outcome, ms) => callsOf(method, outcome).add(ms / 1000),
      streamOpened: () => streams.inc(),
      streamClosed: () => streams.dec(),
      render: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
    },
    push: {
      attempted: ({ outcome }) => deliveries.inc({ outcome }),
      problem: (what) => problems.inc({ what }),
    },
    observer: {
      admitted: ({ agent, isQueued }) => admittedOf(agent, String(isQueued)).add(),
      refused: ({ agent, why }) => refused.inc({ agent: agent ?? '', why }),
      taskEnded: ({ agent, state, reason }) => finishedOf(agent, state, reason ?? '').add(),
      appended: (appended) => {
        events.add(appended.events);
        lagSeconds.add(appended.lagMs / 1000);
      },
      problem: (what) => problems.inc({ what }),
      runStarted: ({ agent, queuedAt, attempt }) => {
        const begun = performance.now();
        countRun(agent, 1);
        if (attempt === 1) waitOf(agent).add(Math.max(0, now() - queuedAt) / 1000);
        return {
          ended: (state) => {
            countRun(agent, -1);
            runOf(agent, state).add((performance.now() - begun) / 1000);
          },
        };
      },
    },
  };
};
