import type { Storage } from 'sealane/store';

/** A store that is shared, does not answer agents until it `isReady`, and lets a lease go when the test wants. */
export const createLosingStore = (storage: Storage, isReady: Promise<void>) => {
  const lost = Promise.withResolvers<void>();
  let first: string | undefined;
  let isLosing = false;
  const store: Storage = {
    ...storage,
    tasks: {
      ...storage.tasks,
      exclusive: false,
      append: async (...words) => {
        await isReady;
        return await storage.tasks.append(...words);
      },
      remember: async (...words) => {
        await isReady;
        return await storage.tasks.remember(...words);
      },
      read: async (...words) => {
        await isReady;
        return await storage.tasks.read(...words);
      },
      renew: async (instance, leaseMs) => {
        first ??= instance;
        if (instance !== first) lost.resolve();
        return isLosing && instance === first
          ? { ok: false, why: 'lost' }
          : await storage.tasks.renew(instance, leaseMs);
      },
    },
  };
  /** Resolves when the service has lost its lease and asks for another. */
  const lose = async (): Promise<void> => {
    isLosing = true;
    await lost.promise;
  };
  /** From now on every instance finds the runs of the first lease. */
  const bury = async (): Promise<void> => {
    if (first !== undefined) await storage.tasks.leave(first);
  };
  return { store, lose, bury };
};
