import type { RunEvent, RunIo, RunRef, Turn, TurnEnd } from '#agents';
import { type Event, type Message, type NewEvent, SealaneError } from '#domain';
import type { Run, StoredTask } from '#store';

import type { AgentEntry } from './agent-registry.ts';
import { textOfThrown, unlessItThrows, weighEnd, weighMetadata } from './agent-words.ts';
import { createInbox, type Inbox } from './inbox.ts';
import type { EngineObserver, RunObserver } from './observer.ts';
import type { Past } from './past.ts';
import type { Persist } from './persist.ts';
import {
  agentEnd,
  BACK_TO_WORK,
  type EndEvent,
  stoppedEnd,
  type StopReason,
  thrownEnd,
  tooLarge,
  writeEnd,
  type WrittenEnd,
} from './run-end.ts';
import { OneRunIo } from './run-io.ts';
import { RunLoss } from './run-loss.ts';
import { RunOutput, unwatched, UNWRITABLE } from './run-output.ts';
import type { EngineSettings } from './settings.ts';
import { turnOf } from './turn.ts';

/** A run of this instance, from its claim to the release of its lane. */
export interface LiveRun {
  readonly run: Run;
  readonly entry: AgentEntry;
  /** Committed events that the run has to know of: a cancel, an answer. */
  observe(events: readonly Event[]): void;
  stop(reason: StopReason): void;
  /** The number up to which the run knows its log. */
  readonly seenSeq: number;
  /** It waits for its caller. */
  readonly isAsking: boolean;
  /** Another instance holds it now: it is aborted, and writes nothing more. */
  readonly isLost: boolean;
  /** Resolves when the run is dead and its lane has been released, or was lost to another instance. */
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
export const startRun = (deps: RunnerDeps, entry: AgentEntry, run: Run, begin: Beginning): LiveRun =>
  new OneRun(deps, entry, run, begin);

/**
 * A class, and getters in no object literal: every run makes one of these, closures weigh more than methods, and each
 * literal with a getter gets a hidden class of its own, which keeps all that it can see until the next full collection.
 * And what it hands out or keeps of itself are bound functions: with closures, each of which has a context, a run that is
 * garbage kept the next, seven kilobytes for every task until the next full collection.
 */
class OneRun implements LiveRun {
  readonly run: Run;
  readonly entry: AgentEntry;
  readonly over: Promise<void>;
  seenSeq: number;
  isAsking = false;
  readonly #deps: RunnerDeps;
  readonly #watcher: RunObserver | undefined;
  readonly #output: RunOutput;
  readonly #loss = new RunLoss();
  #stopReason: StopReason | undefined;
  #hasEnded: boolean;
  #isOver = false;
  // Most runs end before anybody asks for these.
  #aborting: AbortController | undefined;
  #inbox: Inbox | undefined;
  #planned: NodeJS.Immediate | undefined;
  #deadline: NodeJS.Timeout | undefined;
  #graceTimer: NodeJS.Timeout | undefined;
  #giveUpWaiting: ((end: undefined) => void) | undefined;

  constructor(deps: RunnerDeps, entry: AgentEntry, run: Run, begin: Beginning) {
    this.run = run;
    this.entry = entry;
    this.seenSeq = run.seq;
    this.#deps = deps;
    this.#watcher = deps.observer.runStarted?.(run, entry.connector.kind);
    this.#stopReason = run.ended ? 'ended' : run.cancelRequested ? 'canceled' : undefined;
    this.#hasEnded = run.ended;
    this.#output = new RunOutput(deps, run.token, this.stop.bind(this));
    this.over = this.#live(begin).catch((error: unknown) => this.#problem('A run could not be concluded', error));
  }

  observe(events: readonly Event[]): void {
    for (const { seq, event } of events) {
      if (seq <= this.seenSeq) continue;
      this.seenSeq = seq;
      if (event.kind === 'cancel-requested') this.stop('canceled');
      else if (event.kind === 'message-received') {
        this.isAsking = false;
        this.inbox.deliver(event.message);
      } else if (event.kind === 'turn-ended' && event.forced) this.stop('ended');
    }
  }

  stop(reason: StopReason): void {
    const isLost = reason === 'lost';
    if (this.#loss.error || (this.#stopReason !== undefined && !isLost)) return;
    this.#stopReason = reason;
    if (isLost) this.#output.refuse(this.#loss.tell());
    this.#aborting?.abort(reason);
    this.#inbox?.close();
    if (isLost || reason === 'ended') return;
    this.#graceTimer = setTimeout(() => {
      // When the run is dead its end is written once more.
      void this.#forceEnd().catch((error: unknown) => this.#problem('A task could not be ended by force', error));
    }, this.#deps.settings.cancelGraceMs);
  }

  get isLost(): boolean {
    return this.#loss.error !== undefined;
  }

  get signal(): AbortSignal {
    this.#aborting ??= new AbortController();
    if (this.#stopReason !== undefined && !this.#aborting.signal.aborted) this.#aborting.abort(this.#stopReason);
    return this.#aborting.signal;
  }

  get inbox(): Inbox {
    this.#inbox ??= createInbox();
    if (this.#isOver || this.#stopReason !== undefined) this.#inbox.close();
    return this.#inbox;
  }

  say(text: string): Message {
    const { contextId, token } = this.run;
    return {
      messageId: this.#deps.newId(),
      role: 'ROLE_AGENT',
      parts: [{ text }],
      contextId,
      taskId: token.taskId,
    };
  }

  emit(event: RunEvent): Promise<void> {
    const said = this.#output.emit(event);
    if ((event as RunEvent | undefined)?.kind === 'ask') this.isAsking = true;
    return said;
  }

  remember(ref: RunRef): Promise<void> {
    return unwatched(this.#remember(ref));
  }

  async #remember(ref: RunRef): Promise<void> {
    try {
      weighMetadata(ref, 'what is to be remembered');
      const result = await this.#loss.orTold(this.#deps.persist.remember(this.run.token, ref));
      if (result.ok) return;
    } catch (error) {
      if (!this.#loss.error) this.#problem('A reference could not be remembered', error);
      throw error;
    }
    this.stop('lost');
    throw this.#loss.tell();
  }

  async #live(begin: Beginning): Promise<void> {
    // Whoever answers at once needs no deadline.
    this.#planned = setImmediate(() => {
      this.#deadline = setTimeout(() => this.stop('timeout'), this.#timeLeftMs());
    });
    try {
      const end = await this.#work(begin);
      this.#endClocks();
      await this.#conclude(end);
    } finally {
      this.#endClocks();
    }
  }

  /** Runs that have only just started share one time, and so one of the lists that Node keeps its timers in. */
  #timeLeftMs(): number {
    const spentMs = this.#deps.now() - this.run.startedAt;
    const leftMs = this.entry.taskTimeoutMs - (spentMs < 100 ? 0 : spentMs);
    return Math.max(0, Math.min(leftMs, 2 ** 31 - 1));
  }

  #endClocks(): void {
    clearImmediate(this.#planned);
    clearTimeout(this.#deadline);
    clearTimeout(this.#graceTimer);
    this.#isOver = true;
    this.#inbox?.close();
  }

  /** What the agent made of it. A run that never began, or that nobody can wait for any longer, has no say. */
  #work(begin: Beginning): Promise<TurnEnd | undefined> {
    return new Promise((resolve) => {
      this.#giveUpWaiting = resolve;
      if (this.#stopReason !== undefined) return resolve(undefined);
      this.#attempt(begin).then(
        (end) => resolve(this.#checked(end)),
        (error: unknown) => resolve(this.#thrown(error)),
      );
    });
  }

  #attempt(begin: Beginning): Promise<TurnEnd> {
    const { run } = this;
    try {
      const past = this.#deps.past(run, this.#loss);
      // Some answer without a promise.
      return Promise.resolve(begin(turnOf(run, this.#watcher?.traceparent, past), new OneRunIo(this, run.attempt)));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #thrown(error: unknown): TurnEnd | undefined {
    return unlessItThrows(() => {
      const isTold = error instanceof SealaneError && error.forCallers === undefined;
      if (!isTold) this.#problem('An agent failed', error);
      return thrownEnd(error, (text) => this.say(text));
    });
  }

  /** The end that the agent gave, if everybody can read it. */
  #checked(end: TurnEnd): TurnEnd | undefined {
    try {
      const { eventBytes } = this.#deps.settings;
      if (weighEnd(end) <= eventBytes) return end;
      return { state: 'failed', message: this.say(tooLarge('limits.eventBytes', eventBytes)), reason: 'too-large' };
    } catch (error) {
      return unlessItThrows(() => {
        this.#problem(UNWRITABLE, error);
        return { state: 'failed', message: this.say(textOfThrown(error)), reason: 'unwritable' };
      });
    }
  }

  /** The run is dead. Writes its end, unless the task has ended without it, and frees the lane. */
  async #conclude(end: TurnEnd | undefined): Promise<void> {
    const { token } = this.run;
    const { persist } = this.#deps;
    if (this.#loss.error) return this.#watcher?.ended('lost');
    let pending = await this.#output.close();
    // The lease may have been lost while a batch was in flight: then the new holder decides how the turn ends.
    if (this.#loss.error) return this.#watcher?.ended('lost');
    if (this.#hasEnded || this.#stopReason === 'ended') {
      await persist.release(token);
      return this.#watcher?.ended('failed', this.#stopReason);
    }
    if (end?.goesOn && this.#stopReason === 'shutdown') {
      // Still ours in the store until the lease is given up: then its lane goes to whoever takes the run up.
      if (pending.length > 0) await persist.append(token, pending);
      return this.#watcher?.ended('lost', this.#stopReason);
    }
    if (this.#mayRetry(end)) {
      if (await this.#retryLater(pending)) return this.#watcher?.ended('retry', this.#stopReason);
      pending = [];
    }
    const wished =
      this.#stopReason || !end
        ? this.#stoppedEnd(this.#stopReason)
        : agentEnd(end, this.#output.answer, (text) => this.say(text));
    // It asked, and ended without waiting for the answer: back to work first, as the table of states wants it.
    if (this.isAsking) pending = [...pending, BACK_TO_WORK];
    const { result, event } = await this.#finish(pending, wished, true);
    if (!result.ok && result.why === 'terminal') await persist.release(token);
    this.#watcher?.ended(result.ok ? result.value.task.state : 'lost', event.reason);
    if (result.ok) this.#tellEnd(result.value.task, event.reason, event === wished ? end?.detail : undefined);
  }

  #finish(pending: readonly NewEvent[], event: EndEvent, release: boolean): Promise<WrittenEnd> {
    return writeEnd({
      write: (events) => this.#deps.persist.finish(this.run.token, events, release),
      pending,
      event,
      stoppedEnd: (reason) => this.#stoppedEnd(reason),
      onUnwritable: (error) => this.#problem(UNWRITABLE, error),
    });
  }

  /** The run does not die: its task ends now, and the lane waits for the run. */
  async #forceEnd(): Promise<void> {
    if (this.#hasEnded || this.#loss.error) return;
    const pending = await this.#output.close();
    if (this.#loss.error) return;
    const { result } = await this.#finish(pending, { ...this.#stoppedEnd(this.#stopReason), forced: true }, false);
    this.#hasEnded = true;
    if (result.ok) this.#tellEnd(result.value.task, this.#stopReason ?? 'forced');
    setTimeout(() => this.#giveUpWaiting?.(undefined), this.#deps.settings.quarantineMs).unref();
  }

  #problem(what: string, error: unknown): void {
    const { agent, token } = this.run;
    this.#deps.observer.problem?.(what, error, { taskId: token.taskId, agent });
  }

  #tellEnd({ state }: StoredTask, reason: string | undefined, detail?: string): void {
    const { agent, token } = this.run;
    const facts = { agent, taskId: token.taskId, state, ...(reason && { reason }), ...(detail && { detail }) };
    this.#deps.observer.taskEnded?.(facts);
  }

  #mayRetry(end: TurnEnd | undefined): boolean {
    const { recovery, maxAttempts } = this.entry;
    if (recovery !== 'retry' || this.run.attempt >= maxAttempts) return false;
    if (this.#stopReason === 'shutdown') return true;
    return this.#stopReason === undefined && end?.state === 'failed' && end.retryable === true;
  }

  /** Puts the turn back at the head of its lane; false when it was canceled or taken away meanwhile. */
  async #retryLater(pending: readonly NewEvent[]): Promise<boolean> {
    const { persist, settings, now } = this.#deps;
    const { token, attempt } = this.run;
    const lost: NewEvent = { kind: 'run-lost', state: 'working', attempt, retry: true };
    try {
      if (await persist.append(token, [...pending, lost])) return false;
    } catch (error) {
      this.#problem(UNWRITABLE, error);
      return false;
    }
    return (await persist.release(token, now() + settings.retryMs * 2 ** (attempt - 1))).ok;
  }

  #stoppedEnd(reason: StopReason | undefined): EndEvent {
    const facts = { timeoutMs: this.entry.taskTimeoutMs, excess: this.#output.excess };
    return stoppedEnd(reason, facts, (text) => this.say(text));
  }
}
