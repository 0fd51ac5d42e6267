import type { FastifyRequest } from 'fastify';

import { SealaneError } from '#domain';
import { findId, findInteger, findText, invalid } from '#protocol';

import { holderOf } from '../access.ts';
import type { Handler } from '../method-routes.ts';
import { bodyOf, isoOf, queryOf } from './admin-request.ts';
import type { AdminScope } from './admin-scope.ts';

/** Session keys of agents may be longer than ids. */
const MAX_LANE_LENGTH = 4096;

export const addLaneRoutes = ({ add, send, deps }: AdminScope): void => {
  const { lanes } = deps.storage;

  add('/lanes', {
    GET: async (request, reply) => {
      const query = queryOf(request);
      const agent = findId(query['agent'], 'agent');
      const owner = findId(query['owner'], 'owner');
      const after = findText(query['after'], 'after', MAX_LANE_LENGTH);
      const limit = findInteger(query['limit'], 'limit', 1, 1000) ?? 100;
      const [found, pausedAgents] = await Promise.all([
        lanes.list({ limit, ...(agent && { agent }), ...(owner && { owner }), ...(after && { after }) }),
        lanes.pausedAgents(),
      ]);
      const views = found.map((lane) => ({ ...lane, since: isoOf(lane.since) }));
      send(request, reply, 200, JSON.stringify({ lanes: views, pausedAgents }));
    },
  });

  const set =
    (paused: boolean): Handler =>
    async (request, reply) => {
      await pause(request, paused);
      send(request, reply, 200, JSON.stringify({ paused }));
    };
  add('/lanes/pause', { POST: set(true) });
  add('/lanes/resume', { POST: set(false) });

  const pause = async (request: FastifyRequest, paused: boolean): Promise<void> => {
    const body = bodyOf(request);
    const lane = findText(body['lane'], 'lane', MAX_LANE_LENGTH);
    const agent = findId(body['agent'], 'agent');
    const by = holderOf(request).keyId;
    if (lane && agent === undefined) {
      if (await lanes.pause(lane, paused, by, deps.now())) return;
      throw new SealaneError('not-found', `There is no lane "${lane.slice(0, 200)}": GET /admin/lanes lists them.`);
    }
    if (agent === undefined || lane) throw invalid('lane', 'or agent must be given, and only one of them.');
    deps.registry.require(agent);
    await lanes.pauseAgent(agent, paused, by, deps.now());
  };
};
