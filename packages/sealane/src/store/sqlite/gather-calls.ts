import { type Answer, settle } from './sqlite-thread.ts';
import type { Outcome, WorkerRequest } from './worker-messages.ts';

type Call = WorkerRequest[number];

interface Queued<T> {
  readonly text: string;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
}

/** What a call gets: the value of its outcome, and for admissions a word on when it is durable. */
type ValueOf<T> = (value: unknown, durable: Promise<void> | undefined) => T;

const conclude = <T>(
  { resolve, reject }: Queued<T>,
  outcome: Outcome | undefined,
  valueOf: (value: unknown) => T,
): void => {
  if (outcome?.ok) return resolve(valueOf(outcome.value));
  try {
    settle(outcome);
  } catch (error) {
    reject(error);
  }
};

/** So many calls are on their way at once: the thread can begin with them while the event loop gathers the next. */
const EAGER = 8;

/**
 * Gathers the calls of one turn of the event loop into few requests to the store's thread. The thread takes all that
 * has come in while it was at work as one batch: a busy service syncs for many at once, and a quiet one at once.
 */
export const createCallGatherer = <T>(
  send: (calls: readonly string[]) => Promise<Answer>,
  valueOf: ValueOf<T>,
): ((call: Call) => Promise<T>) => {
  let queue: Queued<T>[] = [];
  let isPlanned = false;

  const post = async (): Promise<void> => {
    const batch = queue;
    queue = [];
    try {
      const { outcomes, durable } = await send(batch.map(({ text }) => text));
      const own = (value: unknown): T => valueOf(value, durable);
      for (const [index, queued] of batch.entries()) conclude(queued, outcomes[index], own);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  };

  return (call) =>
    new Promise((resolve, reject) => {
      // Put into words here, one by one: what has no words is the trouble of its caller alone.
      queue.push({ text: JSON.stringify(call), resolve, reject });
      if (queue.length >= EAGER) void post();
      else if (!isPlanned) {
        isPlanned = true;
        setImmediate(() => {
          isPlanned = false;
          if (queue.length > 0) void post();
        });
      }
    });
};
