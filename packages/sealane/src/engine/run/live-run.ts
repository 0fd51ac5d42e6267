import type { RunIo, Turn, TurnEnd } from '#agents';
import type { Event } from '#domain';
import type { Run } from '#store';

import type { AgentEntry } from '../agent-registry.ts';
import type { EngineObserver } from '../observer.ts';
import type { Past } from './past.ts';
import type { Persist } from './persist.ts';
import type { StopReason } from './run-end.ts';
import type { RunLoss } from './run-loss.ts';
import type { EngineSettings } from '../settings.ts';

/** A run of this instance, from its claim to the release of its lane. */
export interface LiveRun {
  readonly run: Run;
  readonly entry: AgentEntry;
  /** Tells the run about committed events: a cancel, an answer, an end of its task from outside. */
  observe(events: readonly Event[]): void;
  stop(reason: StopReason): void;
  /** The number up to which the run knows its log. */
  readonly seenSeq: number;
  /** The run waits for its caller. */
  readonly isAsking: boolean;
  /** This instance holds the run no longer: the run is aborted, and writes nothing more. */
  readonly isLost: boolean;
  /**
   * Resolves when this instance is done with the run: the agent is dead and its end is written, or the run is lost and
   * dead, or the agent has ignored an abort for the whole quarantine.
   */
  readonly over: Promise<void>;
}

export interface RunnerDeps {
  readonly settings: EngineSettings;
  readonly persist: Persist;
  readonly observer: EngineObserver;
  readonly now: () => number;
  readonly newId: () => string;
  readonly past: (run: Run, loss: RunLoss) => Past;
}

/** What the agent is asked to do: begin, or take up what an earlier instance began. */
export type Beginning = (turn: Turn, io: RunIo) => Promise<TurnEnd>;
