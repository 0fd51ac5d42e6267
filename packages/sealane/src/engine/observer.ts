import type { State } from '#domain';
import type { Run } from '#store';

/** What the engine tells metrics, traces and logs. Nothing here may throw or take time. */
export interface EngineObserver {
  admitted?(facts: { readonly agent: string; readonly isQueued: boolean }): void;
  refused?(facts: { readonly agent: string | undefined; readonly why: string }): void;
  /** A run begins; answers what its trace is called, and is told how it ended. */
  runStarted?(run: Run, connector: string): RunObserver | undefined;
  taskEnded?(facts: {
    readonly agent: string;
    readonly taskId: string;
    readonly state: State;
    readonly reason?: string;
    /** What only the operator may read. */
    readonly detail?: string;
  }): void;
  /** From an agent's word to its commit. */
  appended?(facts: { readonly events: number; readonly lagMs: number }): void;
  problem?(what: string, error: unknown, facts?: Readonly<Record<string, string>>): void;
}

export interface RunObserver {
  /** Handed to the agent, so that its own spans hang below ours. */
  readonly traceparent?: string;
  ended(state: State | 'retry' | 'lost', reason?: string): void;
}
