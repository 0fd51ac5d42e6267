import type { RunIo, Turn, TurnEnd } from '#agents';
import { type Event, type Message, type NewEvent, SealaneError, type State } from '#domain';
import type { Finished, Result, Run, StoredTask } from '#store';

import type { AgentEntry } from './agent-registry.ts';
import { createInbox, type Inbox } from './inbox.ts';
import type { EngineObserver } from './observer.ts';
import type { Persist } from './persist.ts';
import { createRunOutput } from './run-output.ts';
import type { EngineSettings } from './settings.ts';
import { turnOf } from './turn.ts';

type EndEvent = NewEvent & { readonly kind: 'turn-ended' };

/** Why a run was told to stop. */
export type StopReason = 'canceled' | 'timeout' | 'lost' | 'ended' | 'shutdown' | 'too-large';

/** A run of this instance, from its claim to the release of its lane. */
export interface LiveRun {
  readonly run: Run;
  /** Committed events that the run has to know of: a cancel, an answer. */
  observe(events: readonly Event[]): void;
  stop(reason: StopReason): void;
  /** The number up to which the run knows its log. */
  readonly seenSeq: number;
  /** It waits for its caller. */
  readonly isAsking: boolean;
  /** Resolves when the run is dead and its lane has been released, or was lost to another instance. */
  readonly over: Promise<void>;
}

export interface RunnerDeps {
  readonly settings: EngineSettings;
  readonly persist: Persist;
  readonly observer: EngineObserver;
  readonly now: () => number;
  readonly newId: () => string;
  readonly history: (run: Run) => Promise<readonly Message[]>;
}

/** What is to be done with the agent: begin, or take up what an earlier instance began. */
export type Beginning = (turn: Turn, io: RunIo) => Promise<TurnEnd>;

/**
 * The life of one run:
 *
 *     claimed ─► agent works ─► agent is dead ─► finish (task ends or asks) + release (lane goes on)
 *                    │ cancel, timeout, shutdown: abort, then as above
 *                    │ shutdown, and the agent goes on without us: nothing ends here; whoever comes next takes it up
 *                    │ it does not die within the grace period: the task ends, marked as forced; the lane stays
 *                    │   held until the agent is dead or the quarantine is over
 *                    └ the lease is lost: abort, write nothing; somebody else has the run
 *
 * The end of a task and the end of a run are two facts. Nothing but the end of the run frees the lane.
 */
export const startRun = (deps: RunnerDeps, entry: AgentEntry, run: Run, begin: Beginning): LiveRun => {
  const { settings, persist, now } = deps;
  const { token } = run;
  // Most runs end before anybody asks for these.
  let aborting: AbortController | undefined;
  let inbox: Inbox | undefined;
  const watcher = deps.observer.runStarted?.(run, entry.connector.kind);
  let stopReason: StopReason | undefined = run.ended ? 'ended' : run.cancelRequested ? 'canceled' : undefined;
  let seenSeq = run.seq;
  let isAsking = false;
  let isOver = false;
  let hasEnded = run.ended;
  let graceTimer: NodeJS.Timeout | undefined;
  let wakeQuarantine: (() => void) | undefined;

  const openInbox = (): Inbox => {
    inbox ??= createInbox();
    if (isOver) inbox.close();
    return inbox;
  };

  const stop = (reason: StopReason): void => {
    if (stopReason === 'lost' || (stopReason !== undefined && reason !== 'lost')) return;
    stopReason = reason;
    aborting?.abort(reason);
    if (reason === 'lost' || reason === 'ended') return;
    graceTimer = setTimeout(() => void forceEnd(), settings.cancelGraceMs);
  };

  const output = createRunOutput({
    token,
    settings,
    persist,
    onRefused: (why) => stop(why === 'terminal' ? 'ended' : 'lost'),
  });

  const say = (text: string): Message => ({
    messageId: deps.newId(),
    role: 'ROLE_AGENT',
    parts: [{ text }],
    contextId: run.contextId,
    taskId: token.taskId,
  });

  const io: RunIo = {
    get signal() {
      aborting ??= new AbortController();
      if (stopReason !== undefined && !aborting.signal.aborted) aborting.abort(stopReason);
      return aborting.signal;
    },
    attempt: run.attempt,
    get inbox() {
      return openInbox();
    },
    say,
    remember: async (ref) => {
      const result = await deps.persist.remember(token, ref);
      if (result.ok) return;
      stop('lost');
      throw new SealaneError('unavailable', 'This run belongs to another instance now.');
    },
    emit: async (event) => {
      if (event.kind === 'ask') isAsking = true;
      try {
        await output.emit(event);
      } catch (error) {
        if (error instanceof SealaneError && error.code === 'too-large') stop('too-large');
        throw error;
      }
    },
  };

  /** Writes the end; a cancel that was committed while another end was on its way is served first. */
  const finish = async (
    pending: readonly NewEvent[],
    event: EndEvent,
    release: boolean,
  ): Promise<{ result: Result<Finished>; event: EndEvent }> => {
    const result = await persist.finish(token, [...pending, event], release);
    if (result.ok || result.why !== 'canceled') return { result, event };
    const canceled: EndEvent = { ...stoppedEnd('canceled', entry, say), ...(event.forced && { forced: true }) };
    return { result: await persist.finish(token, [...pending, canceled], release), event: canceled };
  };

  /** The run does not die: its task ends now, and the lane waits for the run. */
  const forceEnd = async (): Promise<void> => {
    if (hasEnded || stopReason === 'lost') return;
    const pending = await output.close();
    const { result } = await finish(pending, { ...stoppedEnd(stopReason, entry, say), forced: true }, false);
    hasEnded = true;
    if (result.ok)
      deps.observer.taskEnded?.({
        agent: run.agent,
        taskId: token.taskId,
        state: result.value.task.state,
        reason: stopReason ?? 'forced',
      });
    setTimeout(() => wakeQuarantine?.(), settings.quarantineMs).unref();
  };

  const endClocks = (deadline: NodeJS.Timeout): void => {
    clearTimeout(deadline);
    clearTimeout(graceTimer);
    isOver = true;
    inbox?.close();
  };

  const live = async (): Promise<void> => {
    const deadlineMs = run.startedAt + entry.taskTimeoutMs - now();
    const deadline = setTimeout(() => stop('timeout'), Math.max(0, Math.min(deadlineMs, 2 ** 31 - 1)));
    try {
      const end = await work();
      endClocks(deadline);
      await conclude(end);
    } finally {
      endClocks(deadline);
    }
  };

  /** What the agent made of it. A run that never began, or that nobody can wait for any longer, has no say. */
  const work = async (): Promise<TurnEnd | undefined> => {
    if (stopReason !== undefined) return undefined;
    const quarantine = new Promise<undefined>((resolve) => (wakeQuarantine = () => resolve(undefined)));
    const turn = turnOf(run, watcher?.traceparent, () => deps.history(run));
    try {
      return await Promise.race([begin(turn, io), quarantine]);
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      if (!(error instanceof SealaneError))
        deps.observer.problem?.('An agent failed', error, { taskId: token.taskId, agent: run.agent });
      return { state: 'failed', message: say(text), reason: 'error', retryable: isRetryable(error) };
    }
  };

  /** The run is dead. Writes its end, unless the task has ended without it, and frees the lane. */
  const conclude = async (end: TurnEnd | undefined): Promise<void> => {
    if (stopReason === 'lost') return watcher?.ended('lost');
    let pending = await output.close();
    if (hasEnded || stopReason === 'ended') {
      await persist.release(token);
      return watcher?.ended('failed', stopReason);
    }
    if (end?.goesOn && stopReason === 'shutdown') {
      // Still ours in the store until the lease is given up: then its lane goes to whoever takes the run up.
      if (pending.length > 0) await persist.append(token, pending);
      return watcher?.ended('lost', stopReason);
    }
    if (mayRetry(end)) {
      if (await retryLater(pending)) return watcher?.ended('retry', stopReason);
      pending = [];
    }
    const wished = stopReason || !end ? stoppedEnd(stopReason, entry, say) : agentEnd(end);
    // It asked, and ended without waiting for the answer: back to work first, as the table of states wants it.
    if (isAsking) pending = [...pending, { kind: 'status-reported', state: 'working' }];
    const { result, event } = await finish(pending, wished, true);
    if (!result.ok && result.why === 'terminal') await persist.release(token);
    const state = result.ok ? result.value.task.state : 'lost';
    watcher?.ended(state, 'reason' in event ? event.reason : undefined);
    if (result.ok) tellEnd(result.value.task, event);
  };

  /** Puts the turn back at the head of its lane; false when it was canceled or taken away meanwhile. */
  const retryLater = async (pending: readonly NewEvent[]): Promise<boolean> => {
    const refused = await persist.append(token, [
      ...pending,
      { kind: 'run-lost', state: 'working', attempt: run.attempt, retry: true },
    ]);
    if (refused) return false;
    return (await persist.release(token, now() + settings.retryMs * 2 ** (run.attempt - 1))).ok;
  };

  const tellEnd = (task: StoredTask, event: NewEvent): void => {
    const reason = 'reason' in event ? event.reason : undefined;
    deps.observer.taskEnded?.({ agent: run.agent, taskId: token.taskId, state: task.state, ...(reason && { reason }) });
  };

  const mayRetry = (end: TurnEnd | undefined): boolean => {
    if (entry.recovery !== 'retry' || run.attempt >= entry.maxAttempts) return false;
    return stopReason === 'shutdown' || (stopReason === undefined && end?.state === 'failed' && end.retryable === true);
  };

  const agentEnd = (end: TurnEnd): EndEvent => {
    const answer = end.message ?? (output.answer() && end.state === 'completed' ? say(output.answer()) : undefined);
    return {
      kind: 'turn-ended',
      state: end.state,
      ...(answer && { message: answer }),
      ...(end.reason !== undefined && { reason: end.reason }),
      ...(end.metadata && { metadata: end.metadata }),
    };
  };

  const over = live().catch((error: unknown) =>
    deps.observer.problem?.('A run could not be concluded', error, { taskId: token.taskId }),
  );

  return {
    run,
    stop,
    over,
    get seenSeq() {
      return seenSeq;
    },
    get isAsking() {
      return isAsking;
    },
    observe: (events) => {
      for (const { seq, event } of events) {
        if (seq <= seenSeq) continue;
        seenSeq = seq;
        if (event.kind === 'cancel-requested') stop('canceled');
        else if (event.kind === 'message-received') {
          isAsking = false;
          openInbox().deliver(event.message);
        } else if (event.kind === 'turn-ended' && event.forced) stop('ended');
      }
    },
  };
};

const STOPPED: Record<StopReason, { readonly state: State; readonly reason: string; readonly text?: string }> = {
  canceled: { state: 'canceled', reason: 'canceled' },
  timeout: { state: 'failed', reason: 'timeout', text: 'The task timed out' },
  'too-large': { state: 'failed', reason: 'too-large', text: 'The answer is larger than this service allows.' },
  shutdown: { state: 'failed', reason: 'interrupted', text: 'The service stopped while the task was running.' },
  lost: { state: 'failed', reason: 'interrupted', text: 'The run was lost.' },
  ended: { state: 'failed', reason: 'interrupted', text: 'The run was lost.' },
};

/** How a turn ends that did not end by itself. */
const stoppedEnd = (reason: StopReason | undefined, entry: AgentEntry, say: (text: string) => Message): EndEvent => {
  const { state, reason: word, text } = STOPPED[reason ?? 'lost'];
  const full = reason === 'timeout' ? `${text} after ${Math.round(entry.taskTimeoutMs / 1000)} s.` : text;
  return { kind: 'turn-ended', state, reason: word, ...(full !== undefined && { message: say(full) }) };
};

const isRetryable = (error: unknown): boolean => (error as { retryable?: unknown } | null)?.retryable === true;
