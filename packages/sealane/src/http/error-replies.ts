import type { Socket } from 'node:net';

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';

import { SealaneError } from '#domain';
import { encodeRpcRefusal, errorForCaller, ERRORS } from '#protocol';

import type { JsonSender } from './json-reply.ts';

// Importing `node:http` by name would load everything it re-exports, a whole HTTP client included.
const { STATUS_CODES } = process.getBuiltinModule('node:http');

/** How a part of the service words its errors. */
export interface ErrorWording {
  readonly contentType: string;
  /** Where its specification has another HTTP status than HTTP itself suggests. */
  readonly statusOf?: (error: SealaneError) => number;
  readonly encode: (error: SealaneError, status: number) => string;
  /** Its readers, if they hold an admin key, get errors as they are: also where these name machines and files. */
  readonly isForOperator?: true;
}

/** Wherever nothing else is known of the caller: most of them parse JSON-RPC. */
export const asRpcError: ErrorWording = {
  contentType: 'application/json',
  encode: (error) => encodeRpcRefusal(error),
};

export const asAdminError: ErrorWording = {
  contentType: 'application/json',
  encode: ({ code, message, facts }) => JSON.stringify({ error: { code, message, facts } }),
  isForOperator: true,
};

/** What a caller may know of anything thrown; the rest is logged under the request's id. */
export const explain = (thrown: unknown, reqId: string, log: Logger): SealaneError =>
  errorForCaller(thrown, reqId, {
    failed: (err) => log.error({ err, reqId }, 'a request failed'),
    refused: (detail) => log.warn({ detail, reqId }, 'a request was refused'),
  });

/** The answer to what was refused before, or beside, a call; `wordingOf` says in whose words. */
export const createErrorReplier =
  (send: JsonSender, log: Logger, wordingOf: (request: FastifyRequest) => ErrorWording) =>
  (thrown: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const { contentType, encode, statusOf = httpStatusOf, isForOperator = false } = wordingOf(request);
    const known = fromFramework(thrown);
    const isOpen = isForOperator && request.holder?.admin === true && known instanceof SealaneError;
    const error = isOpen ? known : explain(known, request.id, log);
    const status = statusOf(error);
    send(request, reply, status, encode(error, status), {
      'content-type': contentType,
      ...retryHeaders(error),
      ...(error.code === 'unauthenticated' && { 'www-authenticate': 'Bearer' }),
      // The rest of a body that was not read to its end must not be taken for the next request.
      ...(!request.raw.complete && error.code === 'too-large' && { connection: 'close' }),
    });
  };

/** For a body of a wrong type there is a better status than the 400 of A2A's table. */
const httpStatusOf = ({ code }: SealaneError): number =>
  code === 'content-type-not-supported' ? 415 : ERRORS[code].http;

export const retryHeaders = ({ retryAfterMs }: SealaneError): Record<string, string> =>
  retryAfterMs === undefined ? {} : { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) };

/** Fastify's own refusals, in our words. */
const fromFramework = (thrown: unknown): unknown => {
  if (!(thrown instanceof Error) || thrown instanceof SealaneError) return thrown;
  const { code, statusCode } = thrown as Error & { readonly code?: unknown; readonly statusCode?: unknown };
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return new SealaneError('content-type-not-supported', 'The content type cannot be read: send "application/json".');
  }
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    return new SealaneError('invalid-request', thrown.message, { cause: thrown });
  }
  return thrown;
};

const CLIENT_ERRORS: Readonly<Record<string, { readonly status: number; readonly message: string }>> = {
  HPE_HEADER_OVERFLOW: { status: 431, message: 'The headers of the request are too large: send less.' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'The request took too long to arrive.' },
};

/** What never became a request: answered by hand on the socket, then closed. */
export const refuseConnection = (error: NodeJS.ErrnoException, socket: Socket): void => {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { status, message } = CLIENT_ERRORS[error.code ?? ''] ?? { status: 400, message: 'This is not HTTP.' };
  const body = asRpcError.encode(new SealaneError('invalid-request', message), status);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
};
