import type { RunEvent, RunRef, TurnEnd } from '#agents';
import { type Event, type Message, type NewEvent, SealaneError, type State } from '#domain';
import type { Run } from '#store';

import type { AgentEntry } from '../agent-registry.ts';
import { textOfThrown, unlessItThrows, weighEnd, weighMetadata } from './agent-words.ts';
import { createInbox, type Inbox } from './inbox.ts';
import type { Beginning, LiveRun, RunnerDeps } from './live-run.ts';
import type { RunObserver } from '../observer.ts';
import {
  agentEnd,
  BACK_TO_WORK,
  type EndEvent,
  isOwnEnd,
  outranks,
  stoppedEnd,
  type StopReason,
  thrownEnd,
  tooLarge,
  writeEnd,
  type WrittenEnd,
} from './run-end.ts';
import { OneRunIo } from './run-io.ts';
import { RunLoss } from './run-loss.ts';
import { isDrained, mayTryAgain, retryPauseMs } from './retries.ts';
import { RunOutput, UNWRITABLE } from './run-output.ts';
import { turnOf } from './turn.ts';
import { unwatched } from './unwatched.ts';

/**
 * The life of one run:
 *
 *     claimed ─► agent works ─► agent is dead ─► finish (the task ends or asks) + release (the lane goes on)
 *                    │ cancel, timeout, shutdown: abort, then as above
 *                    │ shutdown, and the agent goes on without us: write no end; the next holder takes the run up
 *                    │ shutdown, the agent does not die, and its run can be tried again: write no end, as above
 *                    │ the lease is lost: abort, write nothing; another instance has the run
 *                    └ the agent is not dead when the grace period is over: end the task, marked as forced. The lane
 *                      and the slot stay taken until the agent is dead or the quarantine is over.
 *
 * The end of a task and the end of a run are two facts. Only the end of the run, or of its quarantine, frees the lane.
 * No agent keeps its slot for longer than the quarantine, whatever it ignores and whatever the store does.
 */
export const startRun = (deps: RunnerDeps, entry: AgentEntry, run: Run, begin: Beginning): LiveRun =>
  new OneRun(deps, entry, run, begin);

/**
 * This is a class because every run makes one: closures weigh more than methods, and each object literal with a getter
 * gets a hidden class of its own, which keeps everything in its scope until the next full collection. The functions that
 * it hands out or keeps of itself are bound: a closure has a context, through which each garbage run kept the next one,
 * seven kilobytes for every task until the next full collection.
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
  /** A shutdown has aborted the run, whatever else has stopped it since. */
  #isLeaving = false;
  /** The task has ended, and not by the end that this run is about to write. */
  #hasEnded: boolean;
  /** The agent is dead, or was given up. */
  #isDead = false;
  #isGivenUp = false;
  #isOver = false;
  readonly #tellOver: () => void;
  // Most runs end before they need these.
  #aborting: AbortController | undefined;
  #inbox: Inbox | undefined;
  #planned: NodeJS.Immediate | undefined;
  #deadline: NodeJS.Timeout | undefined;
  #graceTimer: NodeJS.Timeout | undefined;
  #quarantine: NodeJS.Timeout | undefined;
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
    const { promise, resolve } = Promise.withResolvers<void>();
    this.over = promise;
    this.#tellOver = resolve;
    void this.#live(begin);
  }

  observe(events: readonly Event[]): void {
    for (const { seq, event } of events) {
      if (seq <= this.seenSeq) continue;
      this.seenSeq = seq;
      if (event.kind === 'cancel-requested') this.stop('canceled');
      else if (event.kind === 'message-received') {
        this.isAsking = false;
        this.inbox.deliver(event.message);
      } else if (event.kind === 'turn-ended') this.stop('ended');
    }
  }

  stop(reason: StopReason): void {
    const isLost = reason === 'lost';
    if (this.#loss.error || !(isLost || outranks(reason, this.#stopReason))) return;
    // The agent is dead: its end is on its way into the log, where the run may see it, and no shutdown changes it.
    if (this.#isDead && (reason === 'ended' || reason === 'shutdown')) return;
    this.#isLeaving ||= reason === 'shutdown';
    this.#stopReason = reason;
    if (isLost) this.#output.refuse(this.#loss.tell());
    this.#aborting?.abort(reason);
    this.#inbox?.close();
    if (this.#isDead) {
      // The store may not answer for a long time, and its answer matters no more.
      if (isLost) this.#leave('lost', reason);
    } else if (isLost || reason === 'ended') this.#beginQuarantine();
    else this.#graceTimer ??= setTimeout(this.#endByForce.bind(this), this.#deps.settings.cancelGraceMs);
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
    if (this.#isDead || this.#stopReason !== undefined) this.#inbox.close();
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
    // A run that ends immediately needs no deadline timer.
    this.#planned = setImmediate(() => {
      this.#deadline = setTimeout(() => this.stop('timeout'), this.#timeLeftMs());
    });
    try {
      const end = await this.#work(begin);
      this.#die();
      await this.#conclude(end);
    } catch (error) {
      this.#problem('A run could not be concluded', error);
    }
    this.#leave('lost', this.#stopReason);
  }

  /** Runs that have only just started share one duration, and so one of the lists that Node keeps its timers in. */
  #timeLeftMs(): number {
    const spentMs = this.#deps.now() - this.run.startedAt;
    const leftMs = this.entry.taskTimeoutMs - (spentMs < 100 ? 0 : spentMs);
    return Math.max(0, Math.min(leftMs, 2 ** 31 - 1));
  }

  #die(): void {
    clearImmediate(this.#planned);
    clearTimeout(this.#deadline);
    clearTimeout(this.#graceTimer);
    clearTimeout(this.#quarantine);
    this.#isDead = true;
    this.#inbox?.close();
  }

  /** This instance is done with the run. Only the first call tells anybody. */
  #leave(state: State | 'retry' | 'lost', reason?: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#watcher?.ended(state, reason);
    this.#tellOver();
  }

  /** Resolves with the end that the agent gave. Nothing: the run never began, or its agent gave none. */
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
      // Some connectors answer without a promise.
      return Promise.resolve(begin(turnOf(run, this.#watcher?.traceparent, past), new OneRunIo(this, run.attempt)));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #thrown(error: unknown): TurnEnd | undefined {
    return unlessItThrows(() => {
      const isTold = error instanceof SealaneError && error.forCallers === undefined;
      if (!isTold) this.#problem('An agent failed', error);
      // After the abort of a shutdown, an error is a consequence of the abort.
      return this.#stopReason === 'shutdown' ? undefined : thrownEnd(error, (text) => this.say(text));
    });
  }

  /** The end that the agent gave, or a failure if it cannot be stored. */
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

  /** The agent is dead. Writes its end, unless the task has ended without it, and frees the lane. */
  async #conclude(end: TurnEnd | undefined): Promise<void> {
    const { token } = this.run;
    const { persist } = this.#deps;
    if (this.#loss.error) return this.#leave('lost', 'lost');
    let pending = await this.#output.close();
    // The lease may have been lost while a batch was in flight: then the new holder decides how the turn ends.
    if (this.#loss.error) return this.#leave('lost', 'lost');
    if (this.#hasEnded || this.#stopReason === 'ended') {
      await persist.release(token);
      return this.#leave('failed', this.#stopReason);
    }
    if (end?.goesOn && this.#isLeaving) {
      // This instance holds the run and its lane until it gives up the lease. Then the next holder takes the run up.
      if (pending.length > 0) await persist.append(token, pending);
      return this.#leave('lost', 'shutdown');
    }
    // After the grace period, words of the agent may be missing before its end.
    const isInTime = this.#quarantine === undefined;
    const stopReason = this.#stopReason === 'shutdown' && isInTime && isOwnEnd(end) ? undefined : this.#stopReason;
    const isDrain = isDrained(this.run, stopReason, end);
    const isRetryable = stopReason === 'shutdown' || (!stopReason && end?.state === 'failed' && end.retryable === true);
    if (isRetryable && mayTryAgain(this.run, this.entry, isDrain)) {
      if (await this.#retryLater(pending, isDrain)) return this.#leave('retry', stopReason);
      pending = [];
    }
    const wished =
      stopReason || !end
        ? this.#stoppedEnd(stopReason, this.#isGivenUp)
        : agentEnd(end, this.#output.answer, (text) => this.say(text));
    // The agent asked, and ended without waiting for the answer: back to work first, as the table of states wants it.
    if (this.isAsking) pending = [...pending, BACK_TO_WORK];
    const { result, event } = await this.#finish(pending, wished, true);
    if (!result.ok && result.why === 'terminal') await persist.release(token);
    this.#leave(result.ok ? event.state : 'lost', event.reason);
    if (result.ok) this.#tellEnd(event, event.reason, event === wished ? end?.detail : undefined);
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

  /** The grace period is over, and the agent is not dead. */
  #endByForce(): void {
    // An end would keep the next holder from trying the run again, which it may do after a crash.
    if (this.#stopReason === 'shutdown' && this.entry.recovery === 'retry') return this.stop('lost');
    // It begins now, also if the write fails. When the agent is dead, its run writes the end once more.
    this.#beginQuarantine();
    this.#forceEnd().catch((error: unknown) => this.#problem('A task could not be ended by force', error));
  }

  /** The agent does not die: its task ends now, and the lane waits for the agent. */
  async #forceEnd(): Promise<void> {
    const pending = await this.#output.close();
    if (this.#isDead || this.#loss.error) return;
    const { result, event } = await this.#finish(pending, this.#stoppedEnd(this.#stopReason, true), false);
    if (!result.ok && result.why === 'lost') return this.#isDead ? undefined : this.stop('lost');
    this.#hasEnded = true;
    if (result.ok) this.#tellEnd(event, this.#stopReason ?? 'forced');
  }

  #beginQuarantine(): void {
    this.#quarantine ??= setTimeout(this.#giveUp.bind(this), this.#deps.settings.quarantineMs).unref();
  }

  /** The quarantine is over. The agent may be alive, but nobody waits for it any longer. */
  #giveUp(): void {
    this.#problem('An agent ignored an abort for the whole quarantine: its run is given up', undefined);
    this.#isGivenUp = true;
    this.#giveUpWaiting?.(undefined);
    // A store that does not answer keeps the slot no longer than an agent may.
    const leave = this.#leave.bind(this, 'lost', this.#stopReason);
    setTimeout(leave, this.#deps.settings.cancelGraceMs).unref();
  }

  #problem(what: string, error: unknown): void {
    const { agent, token } = this.run;
    this.#deps.observer.problem?.(what, error, { taskId: token.taskId, agent });
  }

  #tellEnd({ state }: EndEvent, reason: string | undefined, detail?: string): void {
    const { agent, token } = this.run;
    const facts = { agent, taskId: token.taskId, state, ...(reason && { reason }), ...(detail && { detail }) };
    this.#deps.observer.taskEnded?.(facts);
  }

  /** Puts the turn back at the head of its lane. False: the turn was canceled, or the run was lost in the meantime. */
  async #retryLater(pending: readonly NewEvent[], isDrain: boolean): Promise<boolean> {
    const { persist, settings, now } = this.#deps;
    const { token, attempt } = this.run;
    const lost: NewEvent = { kind: 'run-lost', state: 'working', attempt, retry: true };
    try {
      if (await persist.append(token, [...pending, lost])) return false;
    } catch (error) {
      this.#problem(UNWRITABLE, error);
      return false;
    }
    return (await persist.release(token, now() + retryPauseMs(this.run, settings), isDrain)).ok;
  }

  #stoppedEnd(reason: StopReason | undefined, isForced = false): EndEvent {
    const facts = { timeoutMs: this.entry.taskTimeoutMs, excess: this.#output.excess };
    const end = stoppedEnd(reason, facts, (text) => this.say(text));
    return isForced ? { ...end, forced: true } : end;
  }
}
