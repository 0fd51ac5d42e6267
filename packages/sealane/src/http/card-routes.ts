import { hash } from 'node:crypto';

import type { FastifyReply, FastifyRequest } from 'fastify';

import { SealaneError } from '#domain';
import type { AgentEntry } from '#engine';

import { baseUrlOf } from './base-url.ts';
import type { HttpDeps, HttpOptions } from './http-deps.ts';
import type { JsonSender } from './json-reply.ts';
import type { Handler } from './method-routes.ts';

export interface CardRouteDeps extends Pick<HttpDeps, 'protocol' | 'registry' | 'keys' | 'startedAt' | 'now'> {
  readonly options: HttpOptions;
  readonly send: JsonSender;
}

export interface CardHandlers {
  /** The card of the default agent. */
  readonly root: Handler;
  /** The card of the agent named in the address. */
  readonly agent: Handler;
}

export const createCardHandlers = (deps: CardRouteDeps): CardHandlers => {
  const { registry, options } = deps;
  // Cards change when the agents do, and never otherwise while we run.
  let changedAt = deps.startedAt;
  registry.onChange(() => {
    changedAt = deps.now();
  });

  const show = async (request: FastifyRequest, reply: FastifyReply, agent: AgentEntry, url: string): Promise<void> => {
    const isPublic = agent.isPublic;
    if (!isPublic && !(await mayUse(deps, request, agent))) throw hidden(agent.name);
    const text = await deps.protocol.cards.show(agent, url);
    const headers = {
      etag: `"${hash('sha256', text, 'base64url').slice(0, 22)}"`,
      'last-modified': new Date(changedAt).toUTCString(),
      'cache-control': `${isPublic ? 'public' : 'private'}, max-age=60`,
    };
    const isKnown = isFresh(request, headers.etag, changedAt);
    deps.send(request, reply, isKnown ? 304 : 200, isKnown ? '' : text, headers);
  };

  return {
    root: async (request, reply) => {
      await show(request, reply, registry.require(undefined), `${baseUrlOf(request, options)}/a2a`);
    },
    agent: async (request, reply) => {
      const { name } = request.params as { readonly name: string };
      const agent = registry.find(name);
      // An unknown agent and a hidden one look the same to strangers.
      if (agent === undefined) throw hidden(name);
      await show(request, reply, agent, `${baseUrlOf(request, options)}/agents/${encodeURIComponent(name)}`);
    },
  };
};

const mayUse = async ({ keys }: CardRouteDeps, request: FastifyRequest, agent: AgentEntry): Promise<boolean> => {
  const holder = await keys.authenticate(request.raw.headers.authorization);
  return holder !== undefined && (holder.agents === null || holder.agents.includes(agent.name));
};

const hidden = (name: string): SealaneError =>
  new SealaneError(
    'agent-not-found',
    `There is no public card of an agent "${name.slice(0, 100)}": send a key that may use it, or have its operator mark it public.`,
  );

const isFresh = (request: FastifyRequest, etag: string, changedAt: number): boolean => {
  const { 'if-none-match': known, 'if-modified-since': since } = request.raw.headers;
  if (known !== undefined)
    return known.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag);
  // HTTP dates have whole seconds.
  return since !== undefined && Date.parse(since) >= Math.floor(changedAt / 1000) * 1000;
};
