import { unwatchFile, watchFile, type StatsListener } from 'node:fs';

/**
 * Calls `onChange` some moments after the file was written, replaced, made or removed. It looks at the file once a
 * second instead of listening to its folder: the folder is usually the data folder, where each commit of the database
 * would wake a listener, and links that are swapped under a file are seen as well.
 */
export const watchConfig = (
  file: string,
  onChange: () => void,
  { intervalMs = 1000, quietMs = 200 }: { readonly intervalMs?: number; readonly quietMs?: number } = {},
): Disposable => {
  let timer: NodeJS.Timeout | undefined;
  const listener: StatsListener = (now, before) => {
    if (now.mtimeMs === before.mtimeMs && now.ino === before.ino && now.size === before.size) return;
    // An editor may write in several steps.
    clearTimeout(timer);
    timer = setTimeout(onChange, quietMs).unref();
  };
  watchFile(file, { interval: intervalMs, persistent: false }, listener);
  return {
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      unwatchFile(file, listener);
    },
  };
};
