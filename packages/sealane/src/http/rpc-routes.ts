import type { FastifyReply, FastifyRequest } from 'fastify';

import { SealaneError } from '#domain';
import type { StreamItem } from '#engine';
import { type Negotiated, negotiateExtensions, type RpcAnswer } from '#protocol';

import { holderOf } from './access.ts';
import { baseUrlOf } from './base-url.ts';
import { explain, retryHeaders } from './error-replies.ts';
import type { HttpDeps, HttpOptions } from './http-deps.ts';
import type { JsonSender } from './json-reply.ts';
import type { LiveCalls } from './live-calls.ts';
import type { Handler } from './method-routes.ts';
import { sseFrame, writeSse } from './sse.ts';

export interface RpcRouteDeps extends Pick<HttpDeps, 'protocol' | 'registry' | 'log' | 'metrics'> {
  readonly send: JsonSender;
  readonly live: LiveCalls;
  readonly options: HttpOptions;
}

/**
 * JSON-RPC over POST. Once a body has been read the HTTP status is 200, whatever the answer says, as JSON-RPC wants;
 * a stream becomes an event stream, and a refusal before its first event is a plain answer.
 */
export const createRpcHandler = (deps: RpcRouteDeps): Handler => {
  const { protocol, registry, log, metrics, send, live, options } = deps;
  return async (request, reply) => {
    const holder = holderOf(request);
    const agent = (request.params as { readonly name?: string }).name;
    const extensions = negotiateExtensions(
      agent === undefined ? registry.findDefault() : registry.require(agent),
      request.raw.headers,
    );
    const signal = live.open(reply.raw);
    const { headers } = request.raw;
    const answer = await protocol.rpc.answer({
      body: typeof request.body === 'string' ? request.body : '',
      version: versionOf(request),
      context: {
        caller: agent === undefined ? holder : { ...holder, agent },
        agent,
        headers,
        extensions,
        baseUrl: () => baseUrlOf(request, options),
        signal,
      },
      explain: (thrown) => explain(signal.aborted ? signal.reason : thrown, request.id, log),
    });
    if (answer.method !== undefined) {
      const outcome = answer.kind === 'single' ? (answer.error?.code ?? 'ok') : 'ok';
      metrics.called(answer.method, outcome, performance.now() - request.beganAt);
      if (log.isLevelEnabled('debug')) {
        log.debug({ reqId: request.id, method: answer.method, owner: holder.owner, agent, outcome }, 'called');
      }
    }
    const echo = extensionHeaders(extensions);
    if (answer.kind === 'stream') await writeStream(deps, request, reply, answer, signal, echo);
    else send(request, reply, 200, answer.text, answer.error ? { ...retryHeaders(answer.error), ...echo } : echo);
  };
};

/** The extensions that the answer was made with. */
export const extensionHeaders = ({ activated }: Negotiated): Record<string, string> | undefined =>
  activated.length === 0 ? undefined : { 'a2a-extensions': activated.join(', ') };

/** The header, or the query parameter of the same name. */
const versionOf = (request: FastifyRequest): string | undefined => {
  const header = request.raw.headers['a2a-version'];
  if (header !== undefined && header !== '') return String(header);
  if (!request.raw.url?.includes('?')) return undefined;
  const query = request.query as Record<string, string | readonly string[] | undefined>;
  const version = query['A2A-Version'] ?? query['a2a-version'];
  return version === undefined ? undefined : String(version);
};

const writeStream = async (
  { options, metrics, log }: RpcRouteDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  answer: Extract<RpcAnswer, { kind: 'stream' }>,
  signal: AbortSignal,
  headers: Record<string, string> | undefined,
): Promise<void> => {
  reply.hijack();
  metrics.streamOpened();
  try {
    await writeSse(reply.raw, framesOf(answer), { ...options, headers }, signal, (thrown) =>
      sseFrame(undefined, answer.failure(explain(thrown, request.id, log))),
    );
  } finally {
    metrics.streamClosed();
    metrics.answered(request.routeOptions.url ?? 'none', 200, performance.now() - request.beganAt);
  }
};

async function* framesOf({ items, frame }: Extract<RpcAnswer, { kind: 'stream' }>): AsyncGenerator<string> {
  for await (const item of items) yield sseFrame(numberOf(item), frame(item));
}

/** A direct reply is no event of a log, so there is nothing to resume from. */
const numberOf = (item: StreamItem): number | undefined => (item.kind === 'message' ? undefined : item.seq);

export const noSuchAddress = (request: FastifyRequest): SealaneError =>
  new SealaneError(
    'not-found',
    `There is nothing at ${request.url.slice(0, 200)}: A2A calls go to POST /a2a or POST /agents/<name>.`,
  );
