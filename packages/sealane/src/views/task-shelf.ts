import { type Event, SealaneError } from '#domain';
import { logPages } from '#engine';
import { COUNT_LIMIT, type PushConfigRecord, type Scope, type Storage, type StoredTask } from '#store';

import { snapshotFrom } from './seed-task.ts';
import { inputOf, type ShelfInput, type ShelfTask, shelfTaskOf } from './shelf-task.ts';

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

/** As it is kept: what was not given is null. */
export interface KeptPushConfig extends Required<ShelfPushConfig> {
  readonly taskId: string;
}

/**
 * A small store of whole tasks: save, get, list, delete, and one webhook per task. Tasks are listed in the order in
 * which they were first saved, by a cursor that is the id of the last one; a limit outside 1–200 is moved inside. It
 * holds a fixed number of tasks: a new one beyond that is refused, known ones can still be saved.
 */
export interface TaskShelf {
  save(task: ShelfInput): Promise<void>;
  get(taskId: string): Promise<ShelfTask | null>;
  list(options?: {
    readonly contextId?: string | null;
    readonly cursor?: string | null;
    readonly limit?: number;
  }): Promise<{
    readonly tasks: readonly ShelfTask[];
    readonly nextCursor: string | null;
  }>;
  delete(taskId: string): Promise<boolean>;
  savePushConfig(taskId: string, config: ShelfPushConfig): Promise<void>;
  getPushConfig(taskId: string): Promise<KeptPushConfig | null>;
  deletePushConfig(taskId: string): Promise<boolean>;
}

/** So many cursors are remembered with their place, so that it stays good when its task is deleted. */
const REMEMBERED = 1000;

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

  const isOurs = async (id: string): Promise<boolean> => (await tasks.peek(scope, id)) !== undefined;

  const save = async (task: ShelfInput): Promise<void> => {
    if (!(await isOurs(task.id))) {
      // Only the number is wanted, so the order is the one that has an index: no other owner's tasks are looked at.
      const { total } = await tasks.list(scope, { limit: 1, order: 'updated', withArtifacts: false });
      if (total >= maxTasks) throw new RangeError('Task store capacity exceeded');
    }
    const at = now();
    const place = { id: task.id, contextId: task.contextId ?? task.id, owner, tenant: '', agent: 'shelf' };
    const result = await tasks.put({ ...place, snapshot: snapshotFrom(inputOf(task), at), at, mode: 'upsert' });
    if (!result.ok) throw new SealaneError('conflict', `Task "${task.id}" cannot be saved (${result.why}).`);
  };

  /** What a log says about the status; the chunks of an answer are most of it, and are let go page by page. */
  const logOf = async (id: string, last: number): Promise<readonly Event[]> => {
    const log: Event[] = [];
    for await (const page of logPages(tasks, scope, id, { after: 0, last })) {
      log.push(...page.filter(({ event }) => event.kind !== 'artifact-added'));
    }
    return log;
  };
  const show = (task: StoredTask): Promise<ShelfTask> => shelfTaskOf(task, () => logOf(task.id, task.seq));

  const pageOf = (
    contextId: string | null | undefined,
    limit: number,
    after: string | undefined,
    withArtifacts = true,
  ) =>
    tasks.list(scope, {
      limit,
      order: 'inserted',
      withArtifacts,
      ...(contextId && { contextId }),
      ...(after !== undefined && { after }),
    });

  /** Where the store goes on behind the task of a cursor. */
  const places = new Map<string, string>();
  const remember = (cursor: string, place: string): void => {
    places.delete(cursor);
    places.set(cursor, place);
    const [oldest] = places.keys();
    if (places.size > REMEMBERED && oldest !== undefined) places.delete(oldest);
  };
  const placeOf = async (contextId: string | null | undefined, cursor: string): Promise<string | undefined> => {
    const known = places.get(cursor);
    if (known !== undefined) return known;
    // Somebody else's cursor, or an old one: its task has to be looked for, one by one, so that the place is behind it.
    let after: string | undefined;
    do {
      const page = await pageOf(contextId, 200, after, false);
      const index = page.tasks.findIndex(({ id }) => id === cursor);
      if (index >= 0) return (await pageOf(contextId, index + 1, after, false)).next;
      after = page.next;
    } while (after !== undefined);
    throw new SealaneError('invalid-params', `There is no task "${cursor}" any more: list again from the start.`, {
      facts: { field: 'cursor' },
    });
  };

  return {
    save: (task) => inTurn(() => save(task)),
    get: async (taskId) => {
      const task = await tasks.find(scope, taskId);
      return task ? await show(task) : null;
    },
    list: async ({ contextId, cursor, limit = 50 } = {}) => {
      const after = cursor ? await placeOf(contextId, cursor) : undefined;
      if (cursor && after === undefined) return { tasks: [], nextCursor: null };
      const page = await pageOf(contextId, Math.min(200, Math.max(1, limit)), after);
      const shown: ShelfTask[] = [];
      for (const task of page.tasks) shown.push(await show(task));
      const nextCursor = (page.next !== undefined && shown.at(-1)?.id) || null;
      if (nextCursor !== null && page.next !== undefined) remember(nextCursor, page.next);
      return { tasks: shown, nextCursor };
    },
    delete: (taskId) => inTurn(async () => (await tasks.remove(scope, taskId, now())).ok),
    savePushConfig: async (taskId, config) => {
      const { url, token = null, authentication = null, status = 'active' } = config;
      const kept = { url, token, authentication };
      // A program that keeps tasks on a shelf calls its webhooks itself.
      const webhook = { id: taskId, config: kept, limit: 1, isSilent: true, status };
      const saved = await pushConfigs.save(scope, taskId, webhook);
      if (!saved.ok) {
        throw new SealaneError('task-not-found', `There is no task "${taskId}".`);
      }
    },
    getPushConfig: async (taskId) => {
      const listed = await pushConfigs.list(scope, taskId);
      const known = listed.ok && listed.value.find(({ id }) => id === taskId);
      if (!known) return null;
      const { url, token = null, authentication = null } = known.config as unknown as ShelfPushConfig;
      return { taskId, url, token, authentication, status: known.status };
    },
    deletePushConfig: async (taskId) => {
      const removed = await pushConfigs.remove(scope, taskId, taskId);
      return removed.ok && removed.value;
    },
  };
};
