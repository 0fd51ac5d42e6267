import { once } from 'node:events';

import type { RunIo, Turn, TurnEnd } from '#agents';
import type { NewEvent, State } from '#domain';
import type { Run } from '#store';

import type { AgentEntry } from './agent-registry.ts';
import type { Beginning } from './live-run.ts';
import type { Persist } from './persist.ts';
import type { EngineSettings } from './settings.ts';

/** How long an agent may take to say whether a run of it is dead; no longer than the lane would be held without it. */
const LONGEST_STOP_MS = 30_000;

/**
 * What becomes of a run whose instance is gone. In this order: it is taken up again if the connector can; otherwise
 * it is made sure that it is dead, and then it is tried again (a choice per agent, a few attempts), or its task fails
 * as `interrupted`. A run that nobody can confirm dead keeps its lane for the quarantine.
 */
export const recoverRun = async (
  deps: {
    readonly persist: Persist;
    readonly settings: EngineSettings;
    readonly now: () => number;
    /** Runs it as if it had started here, through `begin`; the runner writes its end. */
    readonly start: (run: Run, entry: AgentEntry, begin: Beginning) => void;
    readonly newId: () => string;
    readonly hold: (ms: number) => Promise<void>;
    readonly ended: (run: Run, state: State, reason: string) => void;
  },
  run: Run,
  entry: AgentEntry | undefined,
): Promise<void> => {
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
  const retries = mayGoOn && entry.recovery === 'retry' && run.attempt < entry.maxAttempts;
  if (retries) {
    const refused = await persist.append(token, [
      { kind: 'run-lost', state: 'working', attempt: run.attempt, retry: true },
    ]);
    const waitMs = fate === 'dead' ? settings.retryMs * 2 ** (run.attempt - 1) : settings.quarantineMs;
    if (!refused && (await persist.release(token, now() + waitMs)).ok) return;
  }
  if (!run.ended) {
    const end = interruptedEnd(run, entry, isOverdue, deps.newId);
    let result = await persist.finish(token, [fate === 'dead' ? end : { ...end, forced: true }], fate === 'dead');
    if (!result.ok && result.why === 'canceled') {
      result = await persist.finish(
        token,
        [{ kind: 'turn-ended', state: 'canceled', reason: 'canceled' }],
        fate === 'dead',
      );
    }
    if (result.ok) deps.ended(run, result.value.task.state, end.reason ?? '');
    if (result.ok && fate === 'dead') return;
  }
  if (fate === 'unknown') await deps.hold(settings.quarantineMs);
  await persist.release(token);
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
    // It may be deaf to the signal, and what it answers may be anything.
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
