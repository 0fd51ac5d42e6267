import type { FastifyReply, FastifyRequest } from 'fastify';

import { SealaneError } from '#domain';
import { ERRORS, requireExtensions, type RestRoute } from '#protocol';
import { findVersion, versionNotSupported } from '#protocol/version';

import { type CallDeps, extensionHeaders, openCall, versionOf } from '../call-context.ts';
import { retryHeaders } from '../error-replies.ts';
import type { JsonSender } from '../json-reply.ts';
import { sseFrame } from '../sse.ts';
import { writeStream } from '../stream-reply.ts';
import type { RestAddress } from './rest-address.ts';
import type { RestBinding } from './rest-binding.ts';
import { paramsOf } from './rest-params.ts';

export interface RestDeps extends CallDeps {
  readonly send: JsonSender;
}

/**
 * Answers a request as a call of its route's method. A refusal has the HTTP status of its error; of a stream that has
 * begun it is the last event, of the type `error`.
 */
export const answerRest = async (
  deps: RestDeps,
  { binding, agent, tenant, named }: RestAddress,
  route: RestRoute,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> => {
  const { errors, contentType } = binding;
  const encode = encoderOf(route);
  const call = openCall(deps, request, reply, { agent, tenant });
  const echo = extensionHeaders(call.context.extensions, binding.extensionsHeader);
  let result;
  try {
    requireVersion(binding, versionOf(request));
    requireExtensions(call.context.extensions);
    const run = binding.findMethod(route.method);
    if (run === undefined) throw notOffered(route.method);
    const params = paramsOf(route, request, named);
    result = await run(route.decode ? route.decode(params) : params, call.context);
    if (typeof result === 'string') call.admit(result.length);
  } catch (thrown) {
    const error = call.explain(thrown);
    const status = ERRORS[error.code].http;
    call.note(route.method, error.code);
    deps.send(request, reply, status, errors.encode(error, status), {
      'content-type': errors.contentType,
      ...retryHeaders(error),
      ...echo,
    });
    return;
  }
  call.note(route.method, 'ok');
  if (typeof result === 'string') {
    deps.send(request, reply, 200, encode(result), { 'content-type': contentType, ...echo });
    return;
  }
  const { items, encode: encodeItem } = result;
  await writeStream(deps, request, reply, call, {
    items,
    data: (item) => encode(encodeItem(item)),
    failure: (error) => `event: error\n${sseFrame(undefined, errors.encode(error, ERRORS[error.code].http))}`,
    headers: echo,
  });
};

const encoderOf =
  ({ encode }: RestRoute) =>
  (text: string): string =>
    encode ? JSON.stringify(encode(JSON.parse(text) as unknown)) : text;

/** The address decides the version; a caller that asks for another one has come to the wrong address. */
const requireVersion = ({ versions }: RestBinding, asked: string | undefined): void => {
  const version = findVersion(asked);
  if (version !== undefined && !versions.includes(version)) throw versionNotSupported(version, versions);
};

const notOffered = (method: string): SealaneError =>
  new SealaneError('method-not-found', `There is no method "${method}" here.`);
