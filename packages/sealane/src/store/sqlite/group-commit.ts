import type { WorkerReply, WorkerRequest } from './sqlite-worker.ts';

type Call = WorkerRequest[number];

interface Queued {
  readonly call: Call;
  readonly resolve: (outcome: WorkerReply['outcomes'][number] | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** How many calls go into one transaction at most, so that no caller waits for an endless batch. */
const LARGEST = 512;
/** So many calls are worth a commit of their own: the thread works on them while the event loop gathers the next. */
const EAGER = 32;
/** Batches under way at a time: one on its way to the disk, one that the thread finds when it is done. */
const DEPTH = 2;

/**
 * Gathers the calls of many callers into few transactions. Self-clocking: what comes in while batches are on their way
 * to the disk makes up the next one, so a busy service commits in large batches and a quiet one at once.
 */
export const createGroupCommit = (send: (calls: readonly Call[]) => Promise<WorkerReply>) => {
  let queue: Queued[] = [];
  let underWay = 0;
  let isPlanned = false;

  const post = async (): Promise<void> => {
    const batch = queue.length > LARGEST ? queue.splice(0, LARGEST) : queue;
    if (batch === queue) queue = [];
    underWay += 1;
    try {
      const { outcomes } = await send(batch.map(({ call }) => call));
      for (const [index, { resolve }] of batch.entries()) resolve(outcomes[index]);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      underWay -= 1;
      plan();
    }
  };

  /** Those who were just answered often write something next: let them, and all else that this turn of the loop brings. */
  const plan = (): void => {
    if (queue.length >= EAGER && underWay < DEPTH) void post();
    else if (!isPlanned && underWay < DEPTH) {
      isPlanned = true;
      setImmediate(() => {
        isPlanned = false;
        if (queue.length > 0 && underWay < DEPTH) void post();
      });
    }
  };

  return (call: Call): Promise<WorkerReply['outcomes'][number] | undefined> =>
    new Promise((resolve, reject) => {
      queue.push({ call, resolve, reject });
      plan();
    });
};
