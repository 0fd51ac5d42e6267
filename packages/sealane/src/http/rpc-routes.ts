import type { FastifyRequest } from 'fastify';

import { SealaneError } from '#domain';

import { type CallDeps, extensionHeaders, openCall, versionOf } from './call-context.ts';
import { retryHeaders } from './error-replies.ts';
import type { HttpOptions } from './http-deps.ts';
import type { JsonSender } from './json-reply.ts';
import type { Handler } from './method-routes.ts';
import { sseFrame } from './sse.ts';
import { writeStream } from './stream-reply.ts';

export interface RpcRouteDeps extends CallDeps {
  readonly send: JsonSender;
}

/**
 * JSON-RPC over POST. Once a body has been read the HTTP status is 200, whatever the answer says, as JSON-RPC wants;
 * a stream becomes an event stream, and a refusal before its first event is a plain answer.
 */
export const createRpcHandler =
  (deps: RpcRouteDeps): Handler =>
  async (request, reply) => {
    const { name: agent } = request.params as { readonly name?: string };
    const call = openCall(deps, request, reply, { agent });
    const answer = await deps.protocol.rpc.answer({
      body: typeof request.body === 'string' ? request.body : '',
      version: versionOf(request),
      context: call.context,
      explain: call.explain,
      admit: call.admit,
    });
    if (answer.method !== undefined) {
      call.note(answer.method, answer.kind === 'single' ? (answer.error?.code ?? 'ok') : 'ok');
    }
    const { extensions, headers: asked } = call.context;
    // Callers before 1.0 have their own name for the header, and look for the answer under that.
    const headers =
      asked['x-a2a-extensions'] === undefined
        ? extensionHeaders(extensions)
        : { ...extensionHeaders(extensions), ...extensionHeaders(extensions, 'x-a2a-extensions') };
    if (answer.kind === 'stream') {
      const { items, frame: data } = answer;
      const failure = (error: SealaneError): string => sseFrame(undefined, answer.failure(error));
      await writeStream(deps, request, reply, call, { items, data, failure, headers });
    } else {
      const { text, error } = answer;
      deps.send(request, reply, 200, text, error ? { ...retryHeaders(error), ...headers } : headers);
    }
  };

export const noSuchAddress = (request: FastifyRequest, { prefix }: Pick<HttpOptions, 'prefix'>): SealaneError =>
  new SealaneError(
    'not-found',
    `There is nothing at ${request.url.slice(0, 200)}: A2A calls go to POST ${prefix}/a2a or POST ${prefix}/agents/<name>.`,
  );
