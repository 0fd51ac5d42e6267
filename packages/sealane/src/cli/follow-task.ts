import { setTimeout as sleep } from 'node:timers/promises';

import { isInterrupted, isTerminal, type State } from '#domain';

import type { ApiClient, Frame } from './api-client.ts';
import { CliError } from './cli-error.ts';
import { stateOf, type StreamResponse, type WireTask } from './wire.ts';

export type Beginning =
  /** Sends a message and follows its turn: until the task has ended or asks something. */
  | {
      readonly kind: 'send';
      readonly params: unknown;
      readonly agent: string | undefined;
      readonly idempotencyKey: string;
    }
  /** Follows a task until it has ended; with `after`, from the events that come after that number. */
  | { readonly kind: 'watch'; readonly taskId: string; readonly after: number };

export interface FollowOptions {
  readonly signal: AbortSignal;
  /** The line broke and will be tried again. */
  readonly onBreak: (error: CliError, waitMs: number) => void;
}

/** Waits between attempts without progress; after the last one it gives up: a bit more than two minutes in all. */
const PAUSES_MS = [250, 500, 1000, 2000, 4000, 8000, 8000, 15_000, 15_000, 15_000, 30_000, 30_000];

/** The same for a service that takes calls and answers none: each attempt waits for its answer, too. */
const PATIENCE_MS = 120_000;

/** A line that lived so long was whole, though the task had nothing to tell: proxies cut lines every minute or so. */
const WHOLE_MS = 10_000;

/**
 * What happens to a task, each event once and in order, over broken lines. A send is repeated under its idempotency key
 * until the service has told the task's id; from then on the task is subscribed to, after the last number seen.
 */
export async function* followTask(
  client: ApiClient,
  beginning: Beginning,
  { signal, onBreak }: FollowOptions,
): AsyncGenerator<Frame> {
  let taskId = beginning.kind === 'watch' ? beginning.taskId : undefined;
  let lastEventId = beginning.kind === 'watch' ? beginning.after : undefined;
  let isFirst = true;
  /** A call got through once, perhaps further than its answer: the service is there, or will be again. */
  let isReached = false;
  let failures = 0;
  let failingSince = 0;

  const open = () => {
    const openedAt = performance.now();
    const onAlive = () => {
      if (performance.now() - openedAt > WHOLE_MS) failures = 0;
    };
    return taskId === undefined && beginning.kind === 'send'
      ? client.stream('SendStreamingMessage', beginning.params, {
          signal,
          onAlive,
          agent: beginning.agent,
          idempotencyKey: beginning.idempotencyKey,
        })
      : client.stream('SubscribeToTask', { id: taskId }, { signal, onAlive, lastEventId });
  };

  for (;;) {
    let broken: CliError;
    try {
      for await (const frame of open()) {
        // Events that a service without cursors tells again are not told twice.
        if (frame.seq !== undefined && lastEventId !== undefined && frame.seq <= lastEventId && !frame.response.task)
          continue;
        lastEventId = frame.seq ?? lastEventId;
        taskId ??= taskIdOf(frame.response);
        isReached = true;
        failures = 0;
        yield frame;
        if (isLast(frame.response, beginning, isFirst)) return;
        isFirst = false;
      }
      isReached = true;
      if (taskId !== undefined && (yield* isOver(client, taskId, beginning, lastEventId, signal))) return;
      broken = new CliError('unreachable', `${client.url} closed the line.`, { isTransient: true });
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      // The task ended while nobody listened, and this service does not replay.
      if (error.code === 'unsupported-operation' && taskId !== undefined) {
        if (yield* isOver(client, taskId, beginning, undefined, signal)) return;
      }
      broken = error;
    }
    if (failures === 0) failingSince = performance.now();
    const waitMs = performance.now() - failingSince > PATIENCE_MS ? undefined : PAUSES_MS[failures];
    isReached ||= broken.isTransient;
    if (waitMs === undefined || !(isReached && isWorthRetrying(broken))) throw broken;
    failures += 1;
    const pauseMs = Math.max(waitMs, broken.retryAfterMs ?? 0);
    // Whoever started the command would not wait so long, and can come back.
    if (pauseMs > PATIENCE_MS) throw broken;
    onBreak(broken, pauseMs);
    await sleep(pauseMs, undefined, { signal });
  }
}

/** A service that never was there is told at once; one that was may be restarting. */
const isWorthRetrying = ({ code, isTransient }: CliError): boolean =>
  isTransient || code === 'unreachable' || code === 'unavailable' || code === 'rate-limited';

/** A stream that ended without a last word: asks for the task, and tells it if that was the end. */
async function* isOver(
  client: ApiClient,
  taskId: string,
  beginning: Beginning,
  seen: number | undefined,
  signal: AbortSignal,
): AsyncGenerator<Frame, boolean> {
  const task = await client.rpc<WireTask>('GetTask', { id: taskId }, { signal });
  if (!isEnd(stateOf(task.status), beginning)) return false;
  yield { seq: seen, response: { task } };
  return true;
}

const isEnd = (state: State, beginning: Beginning): boolean =>
  isTerminal(state) || (beginning.kind === 'send' && isInterrupted(state));

const isLast = ({ message, statusUpdate, task }: StreamResponse, beginning: Beginning, isFirst: boolean): boolean => {
  if (message) return true;
  if (statusUpdate) return isEnd(stateOf(statusUpdate.status), beginning);
  if (!task) return false;
  const state = stateOf(task.status);
  // The first snapshot of an answered task may still show the question.
  return isTerminal(state) || (!isFirst && isEnd(state, beginning));
};

const taskIdOf = ({ task, statusUpdate, artifactUpdate }: StreamResponse): string | undefined =>
  task?.id ?? statusUpdate?.taskId ?? artifactUpdate?.taskId;
