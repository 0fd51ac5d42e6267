import type { Storage, TaskStore } from '#store';

/** The same storage with something in the way of some of its calls. */
export const withBarriers = (storage: Storage, barriers: (tasks: TaskStore) => Partial<TaskStore>): Storage => ({
  ...storage,
  tasks: { ...storage.tasks, ...barriers(storage.tasks) },
});

/** Somebody waits here until somebody else says so. */
export interface Barrier {
  /** Resolves when the barrier is open; tells whoever waits for an arrival. */
  pass(): Promise<void>;
  open(): void;
  readonly reached: Promise<void>;
}

export const createBarrier = (): Barrier => {
  const arrival = Promise.withResolvers<void>();
  const opening = Promise.withResolvers<void>();
  return {
    reached: arrival.promise,
    open: () => opening.resolve(),
    pass: async () => {
      arrival.resolve();
      await opening.promise;
    },
  };
};
