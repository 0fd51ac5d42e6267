import { once } from 'node:events';

import type { RunIo, Turn, TurnEnd } from '#agents';
import type { NewEvent, State } from '#domain';
import type { Run } from '#store';

import type { AgentEntry } from '../agent-registry.ts';
import type { Beginning } from './live-run.ts';
import type { Persist } from './persist.ts';
import { mayTryAgain, retryPauseMs } from './retries.ts';
import type { EngineSettings } from '../settings.ts';

/** How long an agent may take to say whether its run is dead, if the quarantine is not shorter. */
const LONGEST_STOP_MS = 30_000;

/**
 * Decides on a run whose instance is gone. If the connector can take the run up again, it does. Otherwise the connector
 * stops the run, and then the run is tried again (a choice per agent, a few attempts), or its task fails as
 * `interrupted`. A run that nobody can confirm dead keeps its lane for the quarantine.
 *
 * An instance that stops decides nothing more: it leaves the run held, and the next instance that reaps it decides.
 */
export const recoverRun = async (
  deps: {
    readonly persist: Persist;
    readonly settings: EngineSettings;
    readonly now: () => number;
    /** Runs it through `begin` as if it had started here. The runner writes its end. */
    readonly start: (run: Run, entry: AgentEntry, begin: Beginning) => void;
    readonly newId: () => string;
    readonly isStopping: () => boolean;
    /** Waits. False: the instance stopped in the meantime. */
    readonly hold: (ms: number) => Promise<boolean>;
    readonly ended: (run: Run, state: State, reason: string) => void;
  },
  run: Run,
  entry: AgentEntry | undefined,
): Promise<void> => {
  if (deps.isStopping()) return;
  const { persist, settings, now } = deps;
  const { token } = run;
  const isOverdue = entry !== undefined && run.startedAt + entry.taskTimeoutMs <= now();
  const mayGoOn = !run.ended && !run.cancelRequested && !isOverdue && entry !== undefined;

  const { ref } = run;
  const stopMs = Math.min(LONGEST_STOP_MS, settings.quarantineMs);
  if (mayGoOn && ref && entry.connector.reattach) {
    deps.start(run, entry, reattached(entry, ref, stopMs));
    return;
  }

  const fate = entry && ref ? await stopOf(entry, ref, stopMs) : 'dead';
  if (deps.isStopping()) return;
  const isDrain = run.holderLeft === true;
  if (mayGoOn && mayTryAgain(run, entry, isDrain)) {
    const refused = await persist.append(token, [
      { kind: 'run-lost', state: 'working', attempt: run.attempt, retry: true },
    ]);
    const waitMs = fate === 'dead' ? retryPauseMs(run, settings) : settings.quarantineMs;
    if (!refused && (await persist.release(token, now() + waitMs, isDrain)).ok) return;
  }
  if (!run.ended) {
    const end = interruptedEnd(run, entry, isOverdue, deps.newId);
    const isDead = fate === 'dead';
    let state = end.state;
    let result = await persist.finish(token, [isDead ? end : { ...end, forced: true }], isDead);
    if (!result.ok && result.why === 'canceled') {
      state = 'canceled';
      result = await persist.finish(token, [{ kind: 'turn-ended', state, reason: 'canceled' }], isDead);
    }
    if (result.ok) deps.ended(run, state, end.reason ?? '');
    if (result.ok && fate === 'dead') return;
  }
  const mayRelease = fate === 'dead' || (await deps.hold(settings.quarantineMs));
  if (mayRelease) await persist.release(token);
};

/** The agent's own answer if its run is still there; otherwise a failure that may be tried again. */
const reattached =
  (entry: AgentEntry, ref: NonNullable<Run['ref']>, stopMs: number): Beginning =>
  async (turn: Turn, io: RunIo): Promise<TurnEnd> => {
    const end = await entry.connector.reattach?.(ref, turn, io);
    if (end !== undefined && end !== 'gone') return end;
    await stopOf(entry, ref, stopMs);
    return {
      state: 'failed',
      reason: 'interrupted',
      retryable: true,
      message: io.say('The run did not survive a restart.'),
    };
  };

const stopOf = async (entry: AgentEntry, ref: NonNullable<Run['ref']>, stopMs: number): Promise<'dead' | 'unknown'> => {
  const signal = AbortSignal.timeout(stopMs);
  try {
    // The connector may ignore the signal, and may answer anything.
    const fate: unknown = await Promise.race([entry.connector.stop(ref, signal), once(signal, 'abort')]);
    return fate === 'dead' ? 'dead' : 'unknown';
  } catch {
    return 'unknown';
  }
};

const interruptedEnd = (
  run: Run,
  entry: AgentEntry | undefined,
  isOverdue: boolean,
  newId: () => string,
): NewEvent & { readonly kind: 'turn-ended' } => {
  if (run.cancelRequested) return { kind: 'turn-ended', state: 'canceled', reason: 'canceled' };
  const text = !entry
    ? `The agent "${run.agent}" is no longer configured.`
    : isOverdue
      ? `The task timed out after ${Math.round(entry.taskTimeoutMs / 1000)} s.`
      : 'The service stopped while the task was running.';
  return {
    kind: 'turn-ended',
    state: 'failed',
    reason: isOverdue ? 'timeout' : 'interrupted',
    message: {
      messageId: newId(),
      role: 'ROLE_AGENT',
      parts: [{ text }],
      contextId: run.contextId,
      taskId: run.token.taskId,
    },
  };
};
