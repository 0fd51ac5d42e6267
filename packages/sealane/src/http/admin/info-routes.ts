import { setTimeout as sleep } from 'node:timers/promises';

import type { AgentEntry } from '#engine';
import { findId, findInteger } from '#protocol';

import { baseUrlOf } from '../base-url.ts';
import { isoOf, queryOf } from './admin-request.ts';
import type { AdminScope } from './admin-scope.ts';

const HEALTH_TIMEOUT_MS = 5000;

export const addInfoRoutes = ({ add, send, deps, options }: AdminScope): void => {
  const { storage, registry } = deps;

  add('/info', {
    GET: async (request, reply) => {
      const [counts, paused] = await Promise.all([storage.upkeep.counts(), storage.lanes.pausedAgents()]);
      const agents = registry.list().map((agent) => ({
        name: agent.name,
        connector: agent.connector.kind,
        default: agent.isDefault,
        public: agent.isPublic,
        paused: paused.includes(agent.name),
        concurrency: agent.concurrency,
        running: deps.running(agent.name),
      }));
      const info = {
        version: deps.version,
        store: storage.description,
        instance: deps.instance,
        startedAt: isoOf(deps.startedAt),
        url: baseUrlOf(request, options),
        agents,
        waiting: counts.waiting,
        running: counts.running,
        oldestWaitingSince: isoOf(counts.oldestWaitingSince),
      };
      send(request, reply, 200, JSON.stringify(info));
    },
  });

  add('/health', {
    GET: async (request, reply) => {
      const [store, agents] = await Promise.all([storage.upkeep.check(), Promise.all(registry.list().map(healthOf))]);
      send(request, reply, 200, JSON.stringify({ store: store ?? 'ok', agents }));
    },
  });

  add('/audit', {
    GET: async (request, reply) => {
      const query = queryOf(request);
      const subject = findId(query['subject'], 'subject');
      const kind = findId(query['kind'], 'kind');
      const limit = findInteger(query['limit'], 'limit', 1, 1000) ?? 100;
      const found = await storage.audit.list({ limit, ...(subject && { subject }), ...(kind && { kind }) });
      const events = found.map((event) => ({ ...event, at: isoOf(event.at) }));
      send(request, reply, 200, JSON.stringify({ events }));
    },
  });
};

/** An agent that does not answer in time is not well, whatever it would have said. */
const healthOf = async ({ name, connector }: AgentEntry): Promise<{ name: string; ok: boolean; detail: string }> => {
  if (connector.health === undefined) return { name, ok: true, detail: '' };
  const timeout = new AbortController();
  try {
    const late = sleep(
      HEALTH_TIMEOUT_MS,
      { ok: false, detail: `No answer within ${HEALTH_TIMEOUT_MS} ms.` },
      { signal: timeout.signal },
    );
    const { ok, detail } = await Promise.race([connector.health(), late]);
    return { name, ok, detail };
  } catch (error) {
    return { name, ok: false, detail: error instanceof Error ? error.message : String(error) };
  } finally {
    timeout.abort();
  }
};
