import { isOutcomeUnknown } from './postgres-error.ts';

export interface Grouped {
  /** The store's key of the task; the order in which a group locks its tasks. */
  readonly task: number;
}

interface Waiting<C, R> {
  readonly call: C;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

/** How many calls share one transaction at most, so that no caller waits for an endless group. */
const GROUP = 256;

/**
 * Group commit for appends: what many runs report at the same time goes to the disk together. Self-clocking: whatever
 * comes in while one group is on its way makes up the next. Groups lock tasks in the order of their keys, so that two
 * instances cannot wait for each other; of each task there is one call in a group, so its calls keep their order. If a
 * group fails, each of its calls is run alone, so that nobody fails for a neighbour's reason.
 */
export const createAppendGroups = <C extends Grouped, R>(
  together: (calls: readonly C[]) => Promise<readonly R[]>,
): ((call: C) => Promise<R>) => {
  let queue: Waiting<C, R>[] = [];
  let isBusy = false;

  const next = (): Waiting<C, R>[] => {
    const group = new Map<number, Waiting<C, R>>();
    const rest: Waiting<C, R>[] = [];
    for (const waiting of queue) {
      if (group.size === GROUP || group.has(waiting.call.task)) rest.push(waiting);
      else group.set(waiting.call.task, waiting);
    }
    queue = rest;
    return [...group.values()].sort((a, b) => a.call.task - b.call.task);
  };

  const runAlone = async ({ call, resolve, reject }: Waiting<C, R>): Promise<void> => {
    try {
      const [result] = await together([call]);
      resolve(result as R);
    } catch (error) {
      reject(error);
    }
  };

  const runGroup = async (group: readonly Waiting<C, R>[]): Promise<void> => {
    const [only] = group;
    if (only && group.length === 1) return runAlone(only);
    try {
      const results = await together(group.map(({ call }) => call));
      for (const [index, { resolve }] of group.entries()) resolve(results[index] as R);
    } catch (error) {
      if (isOutcomeUnknown(error)) for (const { reject } of group) reject(error);
      else await Promise.all(group.map(runAlone));
    }
  };

  const run = async (): Promise<void> => {
    while (queue.length > 0) await runGroup(next());
    isBusy = false;
  };

  return (call) =>
    new Promise((resolve, reject) => {
      queue.push({ call, resolve, reject });
      if (isBusy) return;
      isBusy = true;
      setImmediate(() => void run());
    });
};
