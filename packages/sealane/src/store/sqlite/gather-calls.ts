import { settle } from './sqlite-thread.ts';
import type { Outcome, WorkerRequest } from './worker-messages.ts';

type Call = WorkerRequest[number];

interface Queued {
  readonly text: string;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const conclude = ({ resolve, reject }: Queued, outcome: Outcome | undefined): void => {
  if (outcome?.ok) return resolve(outcome.value);
  try {
    settle(outcome);
  } catch (error) {
    reject(error);
  }
};

/** A request leaves at this many calls: the thread can begin with them while the event loop gathers the next ones. */
const EAGER = 8;

/**
 * Gathers the calls of one turn of the event loop into few requests to the store's thread. The thread takes all calls
 * that came in while it was at work as one batch. So a busy service syncs once for many calls, and a quiet one syncs at
 * once.
 */
export const createCallGatherer = (send: (calls: readonly string[]) => Promise<readonly Outcome[]>) => {
  let queue: Queued[] = [];
  let isPlanned = false;

  const post = async (): Promise<void> => {
    const batch = queue;
    queue = [];
    try {
      const outcomes = await send(batch.map(({ text }) => text));
      for (const [index, queued] of batch.entries()) conclude(queued, outcomes[index]);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  };

  return (call: Call): Promise<unknown> =>
    new Promise((resolve, reject) => {
      // Each call is encoded by itself, so that a call that cannot be encoded fails only for its own caller.
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
