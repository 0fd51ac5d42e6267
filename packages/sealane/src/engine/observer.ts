import type { State } from '#domain';
import type { Run } from '#store';

/** What the engine tells metrics, traces and logs. No method may throw or take long. */
export interface EngineObserver {
  admitted?(facts: { readonly agent: string; readonly isQueued: boolean }): void;
  refused?(facts: { readonly agent: string | undefined; readonly why: string }): void;
  /** A run begins. The observer that this call answers names the trace of the run, and is told how the run ended. */
  runStarted?(run: Run, connector: string): RunObserver | undefined;
  taskEnded?(facts: {
    readonly agent: string;
    readonly taskId: string;
    readonly state: State;
    readonly reason?: string;
    /** For the operator only. */
    readonly detail?: string;
  }): void;
  /** `lagMs` counts from the moment when the agent reported the events to their commit. */
  appended?(facts: { readonly events: number; readonly lagMs: number }): void;
  problem?(what: string, error: unknown, facts?: Readonly<Record<string, string>>): void;
}

export interface RunObserver {
  /** Passed to the agent, so that its own spans become children of ours. */
  readonly traceparent?: string;
  ended(state: State | 'retry' | 'lost', reason?: string): void;
}
