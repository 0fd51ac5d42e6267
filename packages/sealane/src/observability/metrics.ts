import { setTimeout as delay } from 'node:timers/promises';

import { Counter, Gauge, Registry } from 'prom-client';

import type { EngineObserver } from '#engine';
import type { HttpMetrics } from '#http';
import type { PushObserver } from '#push';
import type { Storage, StoreCounts } from '#store';

import { createCounts, createTimes } from './plain-metrics.ts';
import { processMetrics } from './process-metrics.ts';

export interface Metrics {
  readonly http: HttpMetrics;
  readonly observer: EngineObserver;
  readonly push: PushObserver;
  /** Hears no more of the storage, which may go on without this service. */
  close(): void;
}

/** How long a scrape waits for the store: everything else is wanted most while that does not answer. */
const LOOK_MS = 2000;

/** Everything `/metrics` tells. Labels are names of agents, states and methods; never ids, texts or addresses. */
export const createMetrics = (storage: Pick<Storage, 'upkeep' | 'onCommit'>, now: () => number): Metrics => {
  const registry = new Registry();
  const registers = [registry];
  const ofProcess = processMetrics();

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
  const inFlight = new Map<string, number>();
  const countRun = (agent: string, change: 1 | -1): void => {
    inFlight.set(agent, (inFlight.get(agent) ?? 0) + change);
  };
  const running: Gauge = new Gauge({
    name: 'sealane_runs',
    help: 'Runs of this instance now, by agent',
    labelNames: ['agent'],
    registers,
    collect: () => inFlight.forEach((runs, agent) => running.set({ agent }, runs)),
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
    help: 'Calls by method and outcome',
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
  const count = async (): Promise<StoreCounts | undefined> => {
    try {
      return await storage.upkeep.counts();
    } catch {
      return undefined;
    }
  };
  const set = async (gauge: Gauge, valueOf: (counts: StoreCounts) => number): Promise<void> => {
    const waiting = new AbortController();
    look ??= count().finally(() => (look = undefined));
    const counts = await Promise.race([look, delay(LOOK_MS, undefined, { signal: waiting.signal })]);
    waiting.abort();
    if (counts) gauge.set(valueOf(counts));
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
  const commits = storage.onCommit((ms) => commitSeconds.add(ms / 1000));

  return {
    close: () => commits[Symbol.dispose](),
    http: {
      answered: (route, status) => answersOf(route, String(status)).add(),
      called: (method, outcome, ms) => callsOf(method, outcome).add(ms / 1000),
      streamOpened: () => streams.inc(),
      streamClosed: () => streams.dec(),
      render: async () => {
        const texts = await Promise.all([ofProcess.metrics(), registry.metrics()]);
        return { contentType: registry.contentType, text: texts.join('') };
      },
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
      runStarted: ({ agent, queuedAt, startedAt, attempt }) => {
        const begun = performance.now();
        countRun(agent, 1);
        if (attempt === 1) waitOf(agent).add(Math.max(0, startedAt - queuedAt) / 1000);
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
