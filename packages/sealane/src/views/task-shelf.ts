import { SealaneError } from '#domain';
import { COUNT_LIMIT, type PushConfigRecord, type Scope, type Storage } from '#store';

import { snapshotFrom, type TaskInput, type ViewTask, viewOf } from './seed-task.ts';

export interface TaskShelfOptions {
  readonly storage: Pick<Storage, 'tasks' | 'pushConfigs'>;
  readonly owner: string;
  /** At most 10,000, which is as far as the store counts, or `Infinity`. */
  readonly maxTasks?: number;
  readonly now?: () => number;
}

export interface ShelfPushConfig {
  readonly url: string;
  readonly token?: string | null;
  readonly authentication?: PushConfigRecord['config'] | null;
  readonly status?: 'active' | 'failed';
}

/**
 * A small store of whole tasks: save, get, list, delete, and one webhook per task. Tasks are listed in the order in
 * which they were first saved, by a cursor that is the id of the last one; a limit outside 1–200 is moved inside. It
 * holds a fixed number of tasks: a new one beyond that is refused, known ones can still be saved.
 */
export interface TaskShelf {
  save(task: TaskInput): Promise<void>;
  get(taskId: string): Promise<ViewTask | null>;
  list(options?: {
    readonly contextId?: string | null;
    readonly cursor?: string | null;
    readonly limit?: number;
  }): Promise<{
    readonly tasks: readonly ViewTask[];
    readonly nextCursor: string | null;
  }>;
  delete(taskId: string): Promise<boolean>;
  savePushConfig(taskId: string, config: ShelfPushConfig): Promise<void>;
  getPushConfig(taskId: string): Promise<(ShelfPushConfig & { readonly taskId: string }) | null>;
  deletePushConfig(taskId: string): Promise<boolean>;
}

export const createTaskShelf = ({
  storage,
  owner,
  maxTasks = COUNT_LIMIT,
  now = Date.now,
}: TaskShelfOptions): TaskShelf => {
  if (maxTasks > COUNT_LIMIT && maxTasks !== Infinity) {
    throw new SealaneError(
      'bad-config',
      `maxTasks is ${maxTasks}, and tasks are counted up to ${COUNT_LIMIT} only: give less, or Infinity.`,
    );
  }
  const { tasks, pushConfigs } = storage;
  const scope: Scope = { owner, tenant: '' };
  // One writer at a time, so that two new tasks cannot share the last place.
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const next = turn.then(work, work);
    turn = next.catch(() => undefined);
    return next;
  };

  const isOurs = async (id: string): Promise<boolean> => (await tasks.find(scope, id)) !== undefined;

  const save = async (task: TaskInput): Promise<void> => {
    if (!(await isOurs(task.id))) {
      const { total } = await tasks.list(scope, { limit: 1, order: 'inserted', withArtifacts: false });
      if (total >= maxTasks) throw new RangeError('Task store capacity exceeded');
    }
    const at = now();
    const place = { id: task.id, contextId: task.contextId ?? task.id, owner, tenant: '', agent: 'shelf' };
    const result = await tasks.put({ ...place, snapshot: snapshotFrom(task, at), at, mode: 'upsert' });
    if (!result.ok) throw new SealaneError('conflict', `Task "${task.id}" cannot be saved (${result.why}).`);
  };

  return {
    save: (task) => inTurn(() => save(task)),
    get: async (taskId) => {
      const task = await tasks.find(scope, taskId);
      return task ? viewOf(task) : null;
    },
    list: async ({ contextId, cursor, limit = 50 } = {}) => {
      const size = Math.min(200, Math.max(1, limit));
      const shown: ViewTask[] = [];
      let after: string | undefined;
      let isPast = !cursor;
      for (;;) {
        const page = await tasks.list(scope, {
          limit: 200,
          order: 'inserted',
          withArtifacts: true,
          ...(contextId && { contextId }),
          ...(after !== undefined && { after }),
        });
        for (const task of page.tasks) {
          if (isPast && shown.length === size) return { tasks: shown, nextCursor: shown.at(-1)?.id ?? null };
          if (isPast) shown.push(viewOf(task));
          if (task.id === cursor) isPast = true;
        }
        if (page.next === undefined) return { tasks: shown, nextCursor: null };
        after = page.next;
      }
    },
    delete: (taskId) => inTurn(async () => (await tasks.remove(scope, taskId)).ok),
    savePushConfig: async (taskId, config) => {
      const kept = { ...config, status: config.status ?? 'active' };
      // Whoever keeps tasks on a shelf calls its webhooks itself.
      const saved = await pushConfigs.save(scope, taskId, { id: taskId, config: kept, limit: 1, isSilent: true });
      if (!saved.ok) {
        throw new SealaneError('task-not-found', `There is no task "${taskId}".`);
      }
    },
    getPushConfig: async (taskId) => {
      const listed = await pushConfigs.list(scope, taskId);
      const known = listed.ok && listed.value.find(({ id }) => id === taskId);
      return known ? { ...(known.config as unknown as ShelfPushConfig), taskId } : null;
    },
    deletePushConfig: async (taskId) => {
      const removed = await pushConfigs.remove(scope, taskId, taskId);
      return removed.ok && removed.value;
    },
  };
};
