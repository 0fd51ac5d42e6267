import { hash } from 'node:crypto';

import type { FastifyReply, FastifyRequest } from 'fastify';

import { SealaneError } from '#domain';
import type { AgentEntry } from '#engine';
import { agentsFor, type CardForm, hiddenAgent } from '#protocol';

import { holderOf } from './access.ts';
import { baseUrlHeaders, baseUrlOf } from './base-url.ts';
import { versionOf } from './call-context.ts';
import { sendCacheable } from './cacheable.ts';
import type { HttpDeps, HttpOptions } from './http-deps.ts';
import type { JsonSender } from './json-reply.ts';
import type { Handler } from './method-routes.ts';

export interface CardRouteDeps extends Pick<HttpDeps, 'protocol' | 'registry' | 'keys' | 'startedAt' | 'now'> {
  readonly options: HttpOptions;
  readonly send: JsonSender;
}

export interface CardHandlers {
  /** The card of the agent named in the address, or of the default one, in the version that the caller asks for. */
  readonly card: Handler;
  /** The same for clients of A2A 0.2 and 0.1, who cannot ask. */
  readonly oldCard: Handler;
  /** The public keys that cards are signed with. */
  readonly jwks: Handler;
}

/** How long a card, and a set of public keys, may be used without asking again. */
const CARD_SECONDS = 60;
const JWKS_SECONDS = 300;

export const createCardHandlers = (deps: CardRouteDeps): CardHandlers => {
  const { registry, options, send } = deps;
  const { cards } = deps.protocol;
  const addressHeaders = baseUrlHeaders(options);
  // Cards change with the agents and with the keys, and never otherwise while we run.
  let changedAt = deps.startedAt;
  registry.onChange(() => {
    changedAt = deps.now();
  });

  const show = async (request: FastifyRequest, reply: FastifyReply, form: CardForm): Promise<void> => {
    const name = nameOf(request);
    const agent = name === undefined ? registry.findDefault() : registry.find(name);
    if (agent === undefined) throw hiddenAgent(name);
    if (!agent.isPublic && !(await mayUse(deps, request, agent))) throw hiddenAgent(name);
    const baseUrl = baseUrlOf(request, options);
    const { text, tag, signedSince } = await cards.show({ agent, atRoot: name === undefined, baseUrl, form });
    sendCacheable(send, request, reply, text, {
      tag,
      changedAt: Math.max(changedAt, signedSince),
      cacheControl: `${agent.isPublic ? 'public' : 'private'}, max-age=${CARD_SECONDS}`,
      vary: ['A2A-Version', ...addressHeaders, ...(agent.isPublic ? [] : ['Authorization'])],
    });
  };

  return {
    card: (request, reply) => show(request, reply, cards.formFor(versionOf(request))),
    oldCard: (request, reply) => show(request, reply, 'old'),
    jwks: async (request, reply) => {
      if (cards.keys === undefined) throw new SealaneError('not-found', 'The cards of this service are not signed.');
      const { jwks, since } = await cards.keys.ring();
      sendCacheable(send, request, reply, jwks, {
        tag: hash('sha256', jwks, 'base64url').slice(0, 22),
        changedAt: since,
        cacheControl: `public, max-age=${JWKS_SECONDS}`,
        vary: [],
      });
    },
  };
};

/** How A2A 0.2 asks for the card that only known callers may see. */
export const createExtendedCardHandler =
  ({ protocol, options, send }: Pick<CardRouteDeps, 'protocol' | 'options' | 'send'>): Handler =>
  async (request, reply) => {
    if (!protocol.capabilities.extendedCard) {
      throw new SealaneError('not-found', 'There is no extended card here: the public one says everything.');
    }
    const text = await protocol.cards.extendedV03({
      caller: holderOf(request),
      agent: nameOf(request),
      baseUrl: () => baseUrlOf(request, options),
    });
    // What it says depends on the key: no cache keeps it, as with every other answer to a call.
    send(request, reply, 200, text);
  };

const nameOf = (request: FastifyRequest): string | undefined => (request.params as { readonly name?: string }).name;

const mayUse = async (
  { keys, registry }: CardRouteDeps,
  request: FastifyRequest,
  agent: AgentEntry,
): Promise<boolean> => {
  const holder = await keys.authenticate(request.raw.headers.authorization);
  return holder !== undefined && agentsFor(registry, holder).includes(agent);
};
