import { realpathSync } from 'node:fs';

/** The last turn of every state directory that is in use, of all agents in this process. */
const last = new Map<string, Promise<void>>();

/**
 * Takes turns on a state directory: OpenClaw works in one only once at a time, and a second process would end with an
 * error after ten seconds. Resolves when it is ours, in the order of the calls, and answers how to give it back;
 * rejects when the signal aborts first.
 */
export const takeStateDir = async (
  stateDir: string,
  { signal, onWait }: { readonly signal: AbortSignal; readonly onWait: () => void },
): Promise<() => void> => {
  const place = realPathOf(stateDir);
  const before = last.get(place);
  const turn = Promise.withResolvers<void>();
  const mine = (before ?? Promise.resolve()).then(() => turn.promise);
  last.set(place, mine);
  void mine.then(() => {
    if (last.get(place) === mine) last.delete(place);
  });
  if (before) {
    onWait();
    try {
      await orAborted(before, signal);
    } catch (error) {
      turn.resolve();
      throw error;
    }
  }
  return () => turn.resolve();
};

const orAborted = async (promise: Promise<void>, signal: AbortSignal): Promise<void> => {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
};

/** Two names of one directory are one directory. A directory that is still to be made has only its name. */
const realPathOf = (path: string): string => {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
};
