import type { ServerResponse } from 'node:http';

import type { FastifyReply, FastifyRequest } from 'fastify';

import type { ErrorCode, SealaneError } from '#domain';
import { keyHasEnded } from '#identity';
import type { CallContext, LiveCall, LiveCalls, Negotiated } from '#protocol';

import { holderOf } from './access.ts';
import { baseUrlOf } from './base-url.ts';
import { explain } from './error-replies.ts';
import type { HttpDeps, HttpOptions } from './http-deps.ts';

export interface CallDeps extends Pick<HttpDeps, 'protocol' | 'registry' | 'keys' | 'unread' | 'log' | 'metrics'> {
  readonly live: LiveCalls;
  readonly options: HttpOptions;
}

/** A call of a method, whatever binding it came by. */
export interface Call {
  readonly context: CallContext;
  /** What the caller may know of anything thrown while it was served. */
  readonly explain: (thrown: unknown) => SealaneError;
  /** Throws when an answer of this length cannot be sent now: the key has left too much unread. */
  readonly admit: (length: number) => void;
  /** Ends the call when its key ends, until it is disposed of: for answers that take long. */
  readonly watchKey: () => Disposable;
  /** Counts the call; a stream counts when it begins. */
  readonly note: (method: string, outcome: 'ok' | ErrorCode) => void;
}

/** Opens the call that a request of a known caller makes; agent and tenant are those that its address names. */
export const openCall = (
  { protocol, registry, keys, unread, log, metrics, live, options }: CallDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  { agent, tenant }: { readonly agent: string | undefined; readonly tenant?: string | undefined },
): Call => {
  const holder = holderOf(request);
  const { headers } = request.raw;
  const extensions = protocol.negotiate(
    agent === undefined ? registry.findDefault() : registry.require(agent, holder.agents),
    headers,
    holder.agents,
  );
  const liveCall = openLiveCall(live, reply.raw);
  const { signal } = liveCall;
  return {
    context: {
      caller:
        agent === undefined && tenant === undefined
          ? holder
          : { ...holder, ...(agent !== undefined && { agent }), ...(tenant !== undefined && { tenant }) },
      agent,
      headers,
      extensions,
      baseUrl: () => baseUrlOf(request, options),
      signal,
    },
    explain: (thrown) => explain(signal.aborted ? signal.reason : thrown, request.id, log),
    admit: (length) => unread.check(holder.keyId, length),
    watchKey: () => keys.watch(headers.authorization, () => liveCall.end(keyHasEnded())),
    note: (method, outcome) => {
      metrics.called(method, outcome, performance.now() - request.beganAt);
      if (outcome === 'forbidden') keys.noteForbidden(holder.keyId);
      if (log.isLevelEnabled('debug')) {
        log.debug({ reqId: request.id, method, owner: holder.owner, agent, outcome }, 'called');
      }
    },
  };
};

/** Aborts when the caller leaves before its answer is whole, or when everything closes. */
const openLiveCall = (live: LiveCalls, response: ServerResponse): LiveCall => {
  const call = live.open();
  response.once('close', () => (response.writableFinished ? call[Symbol.dispose]() : call.leave()));
  return call;
};

/** The protocol version that is asked for: by the header, or by the query parameter of the same name. */
export const versionOf = (request: FastifyRequest): string | undefined => {
  const header = request.raw.headers['a2a-version'];
  if (header !== undefined && header !== '') return String(header);
  if (!request.raw.url?.includes('?')) return undefined;
  const query = request.query as Record<string, string | readonly string[] | undefined>;
  const version = query['A2A-Version'] ?? query['a2a-version'];
  return version === undefined ? undefined : String(version);
};

/** The extensions that the answer was made with. */
export const extensionHeaders = (
  { activated }: Negotiated,
  header = 'a2a-extensions',
): Record<string, string> | undefined => (activated.length === 0 ? undefined : { [header]: activated.join(', ') });
