import type { TurnEnd } from '#agents';
import type { Message, NewEvent, State } from '#domain';
import type { FinishedRun, Result } from '#store';

import { copyJson, copyWords, textOfThrown } from './agent-words.ts';

/** Why a run was told to stop. */
export type StopReason = 'canceled' | 'timeout' | 'lost' | 'ended' | 'shutdown' | 'too-large' | 'unwritable';

export type EndEvent = NewEvent & { readonly kind: 'turn-ended' };

/** Makes a message of the agent. */
type Say = (text: string) => Message;

interface Stopped {
  readonly state: State;
  readonly reason: string;
  readonly text?: string;
}

export const tooLarge = (limit: string, bytes: number): string =>
  `The answer is larger than ${limit} allows (${bytes} bytes).`;

const STOPPED: Readonly<Record<StopReason, Stopped>> = {
  canceled: { state: 'canceled', reason: 'canceled' },
  timeout: { state: 'failed', reason: 'timeout', text: 'The task timed out' },
  'too-large': { state: 'failed', reason: 'too-large' },
  unwritable: { state: 'failed', reason: 'unwritable', text: 'What the agent said could not be stored.' },
  shutdown: { state: 'failed', reason: 'interrupted', text: 'The service stopped while the task was running.' },
  lost: { state: 'failed', reason: 'interrupted', text: 'The run was lost.' },
  ended: { state: 'failed', reason: 'interrupted', text: 'The run was lost.' },
};

/**
 * The first reason to stop a run counts. A shutdown gives way to any other reason: it says nothing about the task, while
 * a cancel or an answer that is too large decides how the task ends.
 */
export const outranks = (reason: StopReason, earlier: StopReason | undefined): boolean =>
  earlier === undefined || (earlier === 'shutdown' && reason !== 'shutdown');

/**
 * True for an end that an agent gave for reasons of its own, although a shutdown had aborted its run. Because of the
 * abort an agent answers `canceled`, or throws.
 */
export const isOwnEnd = (end: TurnEnd | undefined): boolean => end !== undefined && end.state !== 'canceled';

/** How a turn ends that did not end by its agent's word. `excess` says what was too large about its answer. */
export const stoppedEnd = (
  stopReason: StopReason | undefined,
  { timeoutMs, excess }: { readonly timeoutMs: number; readonly excess: string | undefined },
  say: Say,
): EndEvent => {
  const { state, reason, text = excess } = STOPPED[stopReason ?? 'lost'];
  const full = stopReason === 'timeout' ? `${text} after ${Math.round(timeoutMs / 1000)} s.` : text;
  return { kind: 'turn-ended', state, reason, ...(full !== undefined && { message: say(full) }) };
};

/** How a turn ends by its agent's word. `answer` is the text of what it said, for clients that look only at the end. */
export const agentEnd = (end: TurnEnd, answer: string, say: Say): EndEvent => {
  const text = end.state === 'completed' ? answer : '';
  const answered = text === '' ? undefined : say(text);
  const message = end.message ? copyWords(end.message) : answered;
  return {
    kind: 'turn-ended',
    state: end.state,
    ...(message && { message }),
    ...(end.reason !== undefined && { reason: end.reason.toWellFormed() }),
    ...(end.metadata && { metadata: copyJson(end.metadata) }),
  };
};

/** The end of a turn whose agent threw something. */
export const thrownEnd = (error: unknown, say: Say): TurnEnd => ({
  state: 'failed',
  message: say(textOfThrown(error)),
  reason: 'error',
  retryable: (error as { retryable?: unknown } | null | undefined)?.retryable === true,
});

export interface WrittenEnd {
  readonly result: Result<FinishedRun>;
  /** The end that was written, which may be another than the one that was wished for. */
  readonly event: EndEvent;
}

/** The event that the table of states wants between a question and anything but its answer. */
export const BACK_TO_WORK: NewEvent = { kind: 'status-reported', state: 'working' };

/**
 * Writes the end of a turn, after the words of the agent that are not written yet. A cancel that was committed while
 * another end was in flight wins. A message that crosses a question is taken for its answer and stands before it in the
 * log: then the task still asks. Words of an agent that the store cannot take do not keep its task from ending.
 */
export const writeEnd = async (what: {
  readonly write: (events: readonly NewEvent[]) => Promise<Result<FinishedRun>>;
  readonly pending: readonly NewEvent[];
  readonly event: EndEvent;
  readonly stoppedEnd: (reason: StopReason) => EndEvent;
  readonly onUnwritable: (error: unknown) => void;
}): Promise<WrittenEnd> => {
  const { event: wished, write, onUnwritable } = what;
  const endAs = (reason: StopReason): EndEvent => ({
    ...what.stoppedEnd(reason),
    ...(wished.forced && { forced: true }),
  });
  let { pending, event } = what;
  let mayBeAsking = true;
  for (;;) {
    try {
      const result = await write([...pending, event]);
      if (result.ok || result.why !== 'canceled') return { result, event };
      event = endAs('canceled');
    } catch (error) {
      // There is no word of the agent in it, so the store is at fault.
      if (pending.length === 0 && event !== wished) throw error;
      if (mayBeAsking) {
        mayBeAsking = false;
        pending = [...pending, BACK_TO_WORK];
        continue;
      }
      onUnwritable(error);
      pending = [];
      event = endAs('unwritable');
    }
  }
};
