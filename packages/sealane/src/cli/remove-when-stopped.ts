import { rmSync } from 'node:fs';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Whoever stops the command while a draft is being written does not find half a file afterwards. Signals are taken
 * between two steps of ours, never in the middle of one: names are exchanged wholly or not at all.
 */
export const removeWhenStopped = (...files: readonly string[]): Disposable => {
  const onSignal = (_name: string, number: number) => {
    for (const file of files) rmSync(file, { force: true });
    // oxlint-disable-next-line unicorn/no-process-exit
    process.exit(128 + number);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return {
    [Symbol.dispose]: () => {
      for (const signal of SIGNALS) process.off(signal, onSignal);
    },
  };
};
