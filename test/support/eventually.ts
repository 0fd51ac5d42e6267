import { setTimeout as delay } from 'node:timers/promises';

/** Asks again and again until the answer is right, for facts that nobody announces. Fails with the last complaint. */
export const eventually = async <T>(ask: () => T | Promise<T>, timeoutMs = 30_000): Promise<T> => {
  const until = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (performance.now() > until) throw error;
      await delay(10);
    }
  }
};
