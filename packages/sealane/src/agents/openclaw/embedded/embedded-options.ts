import type { OpenclawRuntime } from './openclaw-runtime.ts';

export interface EmbeddedOptions {
  readonly runtime: OpenclawRuntime;
  /** OpenClaw's id of the agent. */
  readonly agentId: string;
  /** Whether OpenClaw, configured like this, has the agent. */
  readonly isKnown?: (config: unknown) => boolean;
  /** OpenClaw's own limit for a run. The task's timeout ends a run in any case and should come first. */
  readonly timeoutMs: number;
  /** `names`: callers with the permission agent-default see the names of the tools that are used. */
  readonly toolUpdates?: 'names' | 'off';
  /** Runs it as work of its own: OpenClaw ends what belongs to a request together with it. */
  readonly detached: <T>(work: () => Promise<T>) => Promise<T>;
}
