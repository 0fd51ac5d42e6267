import type { ErrorCode } from '#domain';

import { CliError } from './cli-error.ts';
import { commandWords, typed } from './command-name.ts';

/** A call that never got an answer, as a failure to show. */
export const connectionError = (error: unknown, url: string): CliError => {
  const cause = deepestCause(error);
  const code = (cause as NodeJS.ErrnoException).code ?? '';
  const unreachable = (message: string, next?: string) => new CliError('unreachable', message, { cause: error, next });
  if (/CERT|SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)/.test(code)) {
    return unreachable(
      `The certificate of ${url} is not trusted (${code}).`,
      'NODE_EXTRA_CA_CERTS=/path/to/ca.pem before the command; or use an address that the certificate names',
    );
  }
  if (/ERR_SSL|EPROTO/.test(code))
    return unreachable(`${url} does not speak TLS.`, `--url ${url.replace(/^https/, 'http')}`);
  if (code === 'UND_ERR_HEADERS_OVERFLOW' || (cause instanceof Error && cause.name === 'HTTPParserError'))
    return unreachable(`What answers on ${url} does not speak HTTP as a service does.`, commandWords().notTheService);
  switch (code) {
    case 'ECONNREFUSED':
      return unreachable(`Nothing answers on ${url}: the service is not running there.`, commandWords().start);
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return unreachable(`The host of ${url} is not known.`, '--url http://127.0.0.1:7420, or correct SEALANE_URL');
    default:
      return new CliError(
        'unreachable',
        `The line to ${url} broke: ${code || (cause instanceof Error ? cause.message : String(cause))}.`,
        {
          cause: error,
          isTransient: /^(ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|UND_ERR_.*)$/.test(code),
        },
      );
  }
};

const deepestCause = (error: unknown): unknown => {
  if (error instanceof AggregateError && error.errors.length > 0) return deepestCause(error.errors[0]);
  return error instanceof Error && error.cause instanceof Error ? deepestCause(error.cause) : error;
};

/** An answer that sends the caller somewhere else. */
export const redirected = (response: Response, url: string): CliError => {
  const target = response.headers.get('location') ?? '';
  const place = URL.canParse(target, url) ? new URL(target, url).origin : 'another place';
  return new CliError('unreachable', `${url} sends callers on to ${place}.`, {
    // The same place: a page that wants a sign-in, for example.
    next: place === 'another place' || place === new URL(url).origin ? commandWords().notTheService : `--url ${place}`,
  });
};

/** An answer that is a refusal. Both forms are read: the admin API's and JSON-RPC's. */
export const refusalOf = async (response: Response, url: string): Promise<CliError> => {
  const text = await response.text().catch(() => '');
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined;
  }
  const retryAfterMs = retryAfterOf(response);
  const error = (body as { readonly error?: unknown } | undefined)?.error;
  if (typeof error === 'object' && error !== null) {
    return wireError(error, retryAfterMs) ?? byStatus(response.status, url, retryAfterMs);
  }
  return byStatus(response.status, url, retryAfterMs);
};

export interface WireError {
  readonly code?: string | number;
  readonly message?: string;
  readonly data?: unknown;
}

/** The refusal in a body or in a frame of a stream; `undefined` when it says nothing that we know. */
export const wireError = (error: WireError, retryAfterMs?: number): CliError | undefined => {
  const message = error.message ?? 'The service refused without saying why.';
  if (typeof error.code === 'string') return failure(error.code as ErrorCode, message, retryAfterMs);
  const reason = Array.isArray(error.data)
    ? error.data
        .map((item: { readonly reason?: unknown } | null) => item?.reason)
        .find((item) => typeof item === 'string')
    : undefined;
  const code = reason?.toLowerCase().replaceAll('_', '-') ?? RPC_CODES[String(error.code)];
  return code === undefined ? undefined : failure(code as ErrorCode, message, retryAfterMs);
};

const RPC_CODES: Readonly<Record<string, ErrorCode>> = {
  '-32001': 'task-not-found',
  '-32002': 'task-not-cancelable',
  '-32003': 'push-not-supported',
  '-32004': 'unsupported-operation',
  '-32005': 'content-type-not-supported',
  '-32009': 'version-not-supported',
  '-32600': 'invalid-request',
  '-32601': 'method-not-found',
  '-32602': 'invalid-params',
  '-32603': 'internal',
  '-32700': 'parse-error',
};

const byStatus = (status: number, url: string, retryAfterMs: number | undefined): CliError => {
  switch (status) {
    case 401:
      return failure('unauthenticated', `${url} does not know this key.`);
    case 403:
      return failure('forbidden', `This key may not do that on ${url}.`);
    case 404:
      return failure('not-found', `${url} has nothing there.`, undefined, commandWords().notTheService);
    case 413:
      return failure('too-large', 'The message is larger than the service takes.');
    case 429:
      return failure('rate-limited', 'The service takes no more calls of this key for now.', retryAfterMs);
    case 502:
    case 503:
    case 504:
      return failure('unavailable', `${url} is not ready (HTTP ${status}).`, retryAfterMs);
    default:
      return failure('internal', `${url} answered HTTP ${status}.`, undefined, typed('doctor'));
  }
};

const failure = (code: ErrorCode, message: string, retryAfterMs?: number, next?: string): CliError => {
  const wait = retryAfterMs === undefined ? undefined : `try again in ${Math.ceil(retryAfterMs / 1000)} s`;
  const byWaiting = code === 'rate-limited' ? (wait ?? 'try again in a minute') : wait;
  // Waiting makes no room on a disk.
  return new CliError(code, message, { next: next ?? (code === 'storage-full' ? undefined : byWaiting), retryAfterMs });
};

const retryAfterOf = (response: Response): number | undefined => {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) ? seconds * 1000 : undefined;
};
