import type { LookAhead } from '#agents';
import type { InstanceId, PushConfigStore, Run, TaskStore } from '#store';

import type { Arrivals } from './admission/arrivals.ts';
import type { AgentRegistry } from './agent-registry.ts';
import type { Dispatcher } from './dispatch/dispatcher.ts';
import type { Feed } from './feed/feed.ts';
import type { EngineObserver } from './observer.ts';
import type { LiveRuns } from './run/live-runs.ts';
import type { CheckWebhook } from './service/push-configs.ts';
import type { EngineSettings } from './settings.ts';

/** The parts of the engine that the operations need. */
export interface EngineParts {
  readonly store: TaskStore;
  readonly pushConfigs: PushConfigStore;
  readonly checkWebhook: CheckWebhook;
  readonly feed: Feed;
  readonly registry: AgentRegistry;
  readonly dispatcher: Dispatcher;
  readonly arrivals: Arrivals;
  readonly runs: LiveRuns;
  readonly settings: EngineSettings;
  readonly observer: EngineObserver;
  readonly now: () => number;
  readonly newId: () => string;
  /** Aborts when the engine stops. */
  readonly signal: AbortSignal;
  /** True once a stop was asked for: runs may end, and no new message is accepted. */
  isStopping(): boolean;
  /** Starts a run whose slot is taken. `instance` holds it in the store. */
  begin(run: Run, instance: InstanceId, ahead?: LookAhead): void;
}
