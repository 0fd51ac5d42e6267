import { setTimeout as delay } from 'node:timers/promises';

import { isTerminal, type State } from '#domain';

import type { A2aClient, SseFrame } from './a2a-client.ts';
import { stateOfWire } from './evidence.ts';
import type { Ledger } from './ledger.ts';

/** How a stream ended for its reader. */
export interface StreamEnd {
  readonly taskId: string;
  readonly state: State;
}

/** Reads streams to their end, across kills: a stream that breaks is taken up elsewhere with `Last-Event-ID`. */
export interface StreamReader {
  /** Resolves with the first frame, which acknowledges the task; `ended` with what the stream told last. */
  open(
    frames: AsyncGenerator<SseFrame, void, undefined>,
    onTask: (id: string) => void,
  ): Promise<{ readonly ended: Promise<StreamEnd | undefined> }>;
  /** Resolves when all streams have ended; those that do not are a problem. */
  idle(): Promise<void>;
}

/** Long enough for everything that waits in a lane to have its turn. */
const END_WITHIN_MS = 60_000;
const TRIES = 20;

interface Wire {
  readonly task?: { readonly id: string; readonly status: { readonly state: string } };
  readonly statusUpdate?: { readonly taskId: string; readonly status: { readonly state: string } };
}

export const createStreamReader = (options: {
  readonly ledger: Ledger;
  readonly target: () => Promise<A2aClient>;
  readonly signal: AbortSignal;
}): StreamReader => {
  const { ledger, target, signal } = options;
  const open = new Set<Promise<unknown>>();

  /** Writes a frame down; answers the state that it tells, if any. */
  const hear = (taskId: string, before: number | undefined, { id, data }: SseFrame): State | undefined => {
    if (id === undefined) {
      ledger.problem(`A stream of task ${taskId} told something without a number: ${JSON.stringify(data)}`);
      return undefined;
    }
    if (before !== undefined && id !== before + 1) {
      ledger.problem(`A stream of task ${taskId} went from event ${before} to event ${id}.`);
    }
    ledger.event(taskId, id, data.result);
    const { task, statusUpdate } = data.result as Wire;
    const status = task?.status ?? statusUpdate?.status;
    return status && stateOfWire(status.state);
  };

  const readOn = async (
    taskId: string,
    first: SseFrame,
    frames: AsyncIterator<SseFrame>,
  ): Promise<StreamEnd | undefined> => {
    let cursor = first.id ?? 0;
    let state = hear(taskId, undefined, first);
    const isOver = (): boolean => state !== undefined && (isTerminal(state) || state === 'input-required');
    const read = async (rest: AsyncIterator<SseFrame>): Promise<void> => {
      for (let next = await rest.next(); !next.done; next = await rest.next()) {
        if (next.value.data.error) return;
        state = hear(taskId, cursor, next.value) ?? state;
        cursor = next.value.id ?? cursor;
        if (isOver()) break;
      }
      await rest.return?.();
    };
    await read(frames).catch(() => undefined);
    for (let times = 0; times < TRIES && !isOver() && !signal.aborted; times += 1) {
      const client = await target();
      const headers = { 'last-event-id': String(cursor) };
      await read(client.stream('SubscribeToTask', { id: taskId }, { headers })).catch(() => undefined);
      if (!isOver()) await delay(50);
    }
    return state && { taskId, state };
  };

  return {
    open: async (frames, onTask) => {
      const first = await frames.next();
      if (first.done) throw new Error('The stream ended before it began.');
      const task = (first.value.data.result as Wire | undefined)?.task;
      if (!task) throw new Error(`The stream began with ${JSON.stringify(first.value.data)}.`);
      onTask(task.id);
      const ended = readOn(task.id, first.value, frames).catch(() => undefined);
      open.add(ended);
      void ended.then(() => open.delete(ended));
      return { ended };
    },
    idle: async () => {
      const timer = new AbortController();
      const late = delay(END_WITHIN_MS, 'late', { signal: timer.signal }).catch(() => 'late');
      const all = Promise.allSettled(open).then(() => 'ended');
      if (open.size > 0 && (await Promise.race([all, late])) === 'late') {
        ledger.problem(`${open.size} streams did not end within ${END_WITHIN_MS / 1000} s of the last message.`);
      }
      timer.abort();
    },
  };
};
