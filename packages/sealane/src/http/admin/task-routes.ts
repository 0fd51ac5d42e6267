import type { FastifyRequest } from 'fastify';

import { SealaneError, type State, STATES } from '#domain';
import type { Caller } from '#engine';
import { findId, findInteger, findText, invalid, stateOf } from '#protocol';
import type { ListQuery, StoredTask } from '#store';

import { holderOf } from '../access.ts';
import { paramOf, queryOf } from './admin-request.ts';
import type { AdminScope } from './admin-scope.ts';
import { encodeAdminEvent, encodeTaskView } from './task-view.ts';

export const addTaskRoutes = ({ add, send, deps }: AdminScope): void => {
  const { storage, service } = deps;

  const requireTask = async (request: FastifyRequest): Promise<StoredTask> => {
    const id = paramOf(request, 'id');
    const task = await storage.tasks.find('all', id);
    if (task !== undefined) return task;
    throw new SealaneError('task-not-found', `There is no task "${id.slice(0, 128)}".`, {
      facts: { id: id.slice(0, 128) },
    });
  };

  /** The operator acts for the owner, under the operator's own key. */
  const actFor = (request: FastifyRequest, { owner, tenant }: StoredTask): Caller => ({
    ...holderOf(request),
    owner,
    tenant,
  });

  const record = (request: FastifyRequest, kind: string, { id, owner }: StoredTask): Promise<void> =>
    storage.audit.record({ at: deps.now(), kind, actor: holderOf(request).keyId, subject: id, facts: { owner } });

  add('/tasks', {
    GET: async (request, reply) => {
      const page = await storage.tasks.list('all', listQueryOf(request));
      const tasks = page.tasks.map((task) => encodeTaskView(task, 'never')).join(',');
      const next = page.next === undefined ? '' : `,"next":${JSON.stringify(page.next)}`;
      send(request, reply, 200, `{"tasks":[${tasks}]${next},"total":${page.total}}`);
    },
  });

  add('/tasks/:id', {
    GET: async (request, reply) => send(request, reply, 200, encodeTaskView(await requireTask(request))),
    DELETE: async (request, reply) => {
      const task = await requireTask(request);
      await service.remove(actFor(request, task), task.id);
      await record(request, 'task-deleted', task);
      send(request, reply, 204, '');
    },
  });

  add('/tasks/:id/cancel', {
    POST: async (request, reply) => {
      const task = await requireTask(request);
      const canceled = await service.cancel(actFor(request, task), task.id);
      await record(request, 'task-canceled', task);
      send(request, reply, 200, encodeTaskView(canceled));
    },
  });

  add('/tasks/:id/events', {
    GET: async (request, reply) => {
      const query = queryOf(request);
      const after = findInteger(query['after'], 'after', 0, Number.MAX_SAFE_INTEGER) ?? 0;
      const limit = findInteger(query['limit'], 'limit', 1, 1000) ?? 500;
      const task = await requireTask(request);
      const events = await storage.tasks.read('all', task.id, after, limit);
      send(request, reply, 200, `{"events":[${events.map(encodeAdminEvent).join(',')}]}`);
    },
  });
};

const listQueryOf = (request: FastifyRequest): ListQuery => {
  const query = queryOf(request);
  const owner = findId(query['owner'], 'owner');
  const agent = findId(query['agent'], 'agent');
  const contextId = findId(query['contextId'], 'contextId');
  const states = findStates(query['state']);
  const after = findText(query['cursor'], 'cursor', 1024);
  return {
    limit: findInteger(query['limit'], 'limit', 1, 200) ?? 50,
    order: 'updated',
    withArtifacts: false,
    ...(owner !== undefined && { owner }),
    ...(agent !== undefined && { agent }),
    ...(contextId !== undefined && { contextId }),
    ...(states !== undefined && { states }),
    ...(after && { after }),
  };
};

/** One or more states, separated by commas, in our spelling or the wire's. */
const findStates = (value: unknown): readonly State[] | undefined => {
  const text = findText(value, 'state', 200);
  if (!text) return undefined;
  return text.split(',').map((word) => {
    const state = STATES.find((known) => known === word.trim()) ?? stateOf(word.trim());
    if (state === undefined) throw invalid('state', `must be one of ${STATES.join(', ')}.`);
    return state;
  });
};
