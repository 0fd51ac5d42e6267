import { SealaneError } from '#domain';
import type { PutTask, Refused, Result, Scope, Storage, StoredTask } from '#store';

import { snapshotFrom, type TaskInput, type ViewTask, viewOf } from './seed-task.ts';

export interface TaskRecordsOptions {
  readonly storage: Pick<Storage, 'tasks'>;
  readonly owner: string;
  readonly now?: () => number;
}

export interface ListTasksParams {
  readonly contextId?: string;
  readonly pageSize?: number;
  readonly pageToken?: string;
}

export interface ListTasksResult {
  readonly tasks: readonly ViewTask[];
  readonly nextPageToken: string | null;
  readonly totalSize: number;
}

/**
 * A store of whole tasks: create, get, update, delete, list, findByContext, with `save` and `load` that have nothing
 * to do because every write is durable when it answers. For programs that keep tasks themselves; tasks that the
 * engine works on can be read here and not be written over.
 */
export interface TaskRecords {
  create(task: TaskInput): Promise<ViewTask>;
  get(id: string): Promise<ViewTask | null>;
  update(id: string, updates: Partial<TaskInput>): Promise<ViewTask | null>;
  delete(id: string): Promise<boolean>;
  list(params?: ListTasksParams): Promise<ListTasksResult>;
  findByContext(contextId: string): Promise<readonly ViewTask[]>;
  save(): Promise<void>;
  load(): Promise<void>;
}

export const createTaskRecords = ({ storage, owner, now = Date.now }: TaskRecordsOptions): TaskRecords => {
  const { tasks } = storage;
  const scope: Scope = { owner, tenant: '' };
  const put = (task: TaskInput, how: Pick<PutTask, 'mode' | 'seenSeq'>): Promise<Result<StoredTask>> => {
    const at = now();
    const place = { id: task.id, contextId: task.contextId ?? task.id, owner, tenant: '', agent: 'records' };
    return tasks.put({ ...place, ...how, snapshot: snapshotFrom(task, at), at });
  };
  const refused = (id: string, why: Refused['why']): SealaneError =>
    new SealaneError(
      'conflict',
      `Task "${id}" cannot be written: it ${why === 'busy' ? 'is being worked on' : why === 'terminal' ? 'has ended' : 'exists already'}.`,
    );
  const get = async (id: string): Promise<ViewTask | null> => {
    const task = await tasks.find(scope, id);
    return task ? viewOf(task) : null;
  };
  const list = async ({ contextId, pageSize = 50, pageToken }: ListTasksParams = {}): Promise<ListTasksResult> => {
    const page = await tasks.list(scope, {
      limit: Math.min(200, Math.max(1, pageSize)),
      order: 'updated',
      withArtifacts: true,
      ...(contextId !== undefined && { contextId }),
      ...(pageToken && { after: pageToken }),
    });
    return { tasks: page.tasks.map(viewOf), nextPageToken: page.next ?? null, totalSize: page.total };
  };
  return {
    create: async (task) => {
      const created = await put(task, { mode: 'create' });
      if (created.ok) return viewOf(created.value);
      if (created.why === 'absent') throw new SealaneError('conflict', `Task "${task.id}" cannot be created.`);
      throw refused(task.id, created.why);
    },
    get,
    update: async (id, updates) => {
      for (;;) {
        const task = await tasks.find(scope, id);
        if (!task) return null;
        const known = viewOf(task);
        // The time of a status is its own only while the status is.
        const status = updates.status ? { ...updates.status } : known.status;
        const updated = await put({ ...known, ...updates, id, status }, { mode: 'replace', seenSeq: task.seq });
        if (updated.ok) return viewOf(updated.value);
        if (updated.why === 'absent') return null;
        // Somebody else has changed it meanwhile, here or on another instance: what they changed must stay.
        if (updated.why !== 'conflict') throw refused(id, updated.why);
      }
    },
    delete: async (id) => (await tasks.remove(scope, id, now())).ok,
    list,
    findByContext: async (contextId) => {
      const found: ViewTask[] = [];
      let pageToken: string | undefined;
      do {
        const page = await list({ contextId, pageSize: 200, ...(pageToken !== undefined && { pageToken }) });
        found.push(...page.tasks);
        pageToken = page.nextPageToken ?? undefined;
      } while (pageToken !== undefined);
      return found;
    },
    save: async () => undefined,
    load: async () => undefined,
  };
};
