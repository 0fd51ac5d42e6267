import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

import type { EngineObserver } from '#engine';
import type { HttpMetrics } from '#http';
import type { PushObserver } from '#push';
import type { Storage, StoreCounts } from '#store';

export interface Metrics {
  readonly http: HttpMetrics;
  readonly observer: EngineObserver;
  readonly push: PushObserver;
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800];

/** The child of a metric for some labels: looked up by one short key instead of hashing the labels at each call. */
const childOf = <T>(make: (...labels: string[]) => T): ((...labels: string[]) => T) => {
  const known = new Map<string, T>();
  return (...labels) => {
    const key = labels.join('\u0000');
    let child = known.get(key);
    if (child === undefined) known.set(key, (child = make(...labels)));
    return child;
  };
};

/** Everything `/metrics` tells. Labels are names of agents, states and methods; never ids, texts or addresses. */
export const createMetrics = (storage: Pick<Storage, 'upkeep' | 'onCommit'>, now: () => number): Metrics => {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 10 });

  const admitted = new Counter({
    name: 'sealane_tasks_admitted_total',
    help: 'Messages taken in as a turn, by agent',
    labelNames: ['agent', 'queued'],
    registers,
  });
  const refused = new Counter({
    name: 'sealane_tasks_refused_total',
    help: 'Messages refused before a task existed, by reason',
    labelNames: ['agent', 'why'],
    registers,
  });
  const finished = new Counter({
    name: 'sealane_tasks_finished_total',
    help: 'Turns that ended, by agent and state',
    labelNames: ['agent', 'state', 'reason'],
    registers,
  });
  const running = new Gauge({
    name: 'sealane_runs',
    help: 'Runs of this instance now, by agent',
    labelNames: ['agent'],
    registers,
  });
  const runSeconds = new Histogram({
    name: 'sealane_run_seconds',
    help: 'How long runs took, by agent and outcome',
    labelNames: ['agent', 'state'],
    buckets: SECONDS,
    registers,
  });
  const waitSeconds = new Histogram({
    name: 'sealane_wait_seconds',
    help: 'How long turns waited in their lane, by agent',
    labelNames: ['agent'],
    buckets: SECONDS,
    registers,
  });
  const events = new Counter({ name: 'sealane_events_total', help: 'Events appended by runs', registers });
  const lagSeconds = new Histogram({
    name: 'sealane_event_lag_seconds',
    help: "From an agent's word to its durable commit",
    buckets: SECONDS,
    registers,
  });
  const commitSeconds = new Histogram({
    name: 'sealane_commit_seconds',
    help: 'How long the store took for a commit',
    buckets: SECONDS,
    registers,
  });
  const calls = new Histogram({
    name: 'sealane_call_seconds',
    help: 'JSON-RPC calls by method and outcome',
    labelNames: ['method', 'outcome'],
    buckets: SECONDS,
    registers,
  });
  const answers = new Counter({
    name: 'sealane_http_answers_total',
    help: 'HTTP answers by route and status',
    labelNames: ['route', 'status'],
    registers,
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
  const admittedOf = childOf((agent = '', isQueued = '') => admitted.labels(agent, isQueued));
  const finishedOf = childOf((agent = '', state = '', reason = '') => finished.labels(agent, state, reason));
  const answersOf = childOf((route = '', status = '') => answers.labels(route, status));
  const callsOf = childOf((method = '', outcome = '') => calls.labels(method, outcome));
  const runningOf = childOf((agent = '') => running.labels(agent));
  const waitOf = childOf((agent = '') => waitSeconds.labels(agent));
  const runOf = childOf((agent = '', state = '') => runSeconds.labels(agent, state));
  storage.onCommit((ms) => commitSeconds.observe(ms / 1000));

  return {
    http: {
      answered: (route, status) => answersOf(route, String(status)).inc(),
      called: (method, outcome, ms) => callsOf(method, outcome).observe(ms / 1000),
      streamOpened: () => streams.inc(),
      streamClosed: () => streams.dec(),
      render: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
    },
    push: {
      attempted: ({ outcome }) => deliveries.inc({ outcome }),
      problem: (what) => problems.inc({ what }),
    },
    observer: {
      admitted: ({ agent, isQueued }) => admittedOf(agent, String(isQueued)).inc(),
      refused: ({ agent, why }) => refused.inc({ agent: agent ?? '', why }),
      taskEnded: ({ agent, state, reason }) => finishedOf(agent, state, reason ?? '').inc(),
      appended: (appended) => {
        events.inc(appended.events);
        lagSeconds.observe(appended.lagMs / 1000);
      },
      problem: (what) => problems.inc({ what }),
      runStarted: ({ agent, queuedAt, attempt }) => {
        const begun = performance.now();
        runningOf(agent).inc();
        if (attempt === 1) waitOf(agent).observe(Math.max(0, now() - queuedAt) / 1000);
        return {
          ended: (state) => {
            runningOf(agent).dec();
            runOf(agent, state).observe((performance.now() - begun) / 1000);
          },
        };
      },
    },
  };
};
