import type { TurnEnd } from '#agents';
import type { Run } from '#store';

import type { AgentEntry } from '../agent-registry.ts';
import type { StopReason } from './run-end.ts';
import type { EngineSettings } from '../settings.ts';

/** The attempts that count. A planned stop is no fault of the agent, so the attempts that it has ended do not. */
const usedAttempts = ({ attempt, drains }: Run): number => attempt - drains;

/** Whether a planned stop has ended the run: one of this instance, or one that the run did not survive. */
export const isDrained = (run: Run, stopReason: StopReason | undefined, end: TurnEnd | undefined): boolean =>
  stopReason === 'shutdown' || (run.holderLeft === true && end?.reason === 'interrupted');

/** Whether the turn of a run may be tried again. An attempt that a planned stop has ended may always be repeated. */
export const mayTryAgain = (run: Run, { recovery, maxAttempts }: AgentEntry, isDrain: boolean): boolean =>
  recovery === 'retry' && (isDrain || usedAttempts(run) < maxAttempts);

/** How long the next attempt waits. The pause doubles with each attempt that counts. */
export const retryPauseMs = (run: Run, { retryMs }: EngineSettings): number => retryMs * 2 ** (usedAttempts(run) - 1);
