import type { Storage, TaskStore } from 'sealane/store';

/** The same storage, with other ways to do some things. */
export const withTasks = (storage: Storage, change: (tasks: TaskStore) => Partial<TaskStore>): Storage => ({
  ...storage,
  tasks: { ...storage.tasks, ...change(storage.tasks) },
});

/** A storage whose admissions take until the test lets them. */
export const withSlowAdmissions = (storage: Storage) => {
  const disk = Promise.withResolvers<void>();
  const waiting = Promise.withResolvers<void>();
  const store = withTasks(storage, (tasks) => ({
    admit: async (admission) => {
      waiting.resolve();
      await disk.promise;
      return await tasks.admit(admission);
    },
  }));
  return { store, disk, waiting: waiting.promise };
};
