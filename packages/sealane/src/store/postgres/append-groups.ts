import { isOutcomeUnknown } from './postgres-error.ts';

export interface Grouped {
  /** The store's key of the task. A group locks its tasks in the order of their keys. */
  readonly task: number;
}

interface Waiting<C, R> {
  readonly call: C;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

/** The most calls that share one transaction, so that no caller waits for an endless group. */
const GROUP = 256;

/**
 * Group commit for appends: reports of many runs go to the disk together. It is self-clocking: the calls that come in
 * while one group is in flight make up the next. Groups lock tasks in the order of their keys, so that two instances
 * cannot deadlock. A group has one call of each task, so the calls of a task keep their order. If a group fails, each
 * of its calls is run alone, so that no call fails because of another one.
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
