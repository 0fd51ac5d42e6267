import { connectionError, refusalOf, wireError, type WireError } from './api-error.ts';
import { CliError } from './cli-error.ts';
import { commandWords } from './command-name.ts';
import { parseSse } from './sse-parser.ts';
import type { StreamResponse } from './wire.ts';

export interface Frame {
  /** The number of the event, when the service gives one: the cursor to go on from. */
  readonly seq: number | undefined;
  readonly response: StreamResponse;
}

export interface RpcOptions {
  readonly signal?: AbortSignal | undefined;
  /** Talks to this agent instead of the default one. */
  readonly agent?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly lastEventId?: number | undefined;
}

type CallInit = Omit<RequestInit, 'headers'> & { readonly headers?: Readonly<Record<string, string>> };
type Query = Readonly<Record<string, string | number | undefined>>;

/** Calls to a service: the admin API as plain HTTP, A2A as JSON-RPC. Refusals and broken lines are `CliError`s. */
export interface ApiClient {
  readonly url: string;
  get<T>(path: string, query?: Query): Promise<T>;
  post<T>(path: string, body?: unknown): Promise<T>;
  remove(path: string): Promise<void>;
  /** An answer to be read piece by piece. */
  download(
    path: string,
    query?: Query,
  ): Promise<{ readonly body: AsyncIterable<Uint8Array>; readonly bytes: number | undefined }>;
  rpc<T>(method: string, params: unknown, options?: RpcOptions): Promise<T>;
  stream(method: string, params: unknown, options: RpcOptions): AsyncGenerator<Frame>;
}

/** Longer than several heartbeats of the service: a line that is silent for so long is broken. */
const SILENCE_MS = 60_000;
const ANSWER_MS = 60_000;

export const createApiClient = (url: string, key: string | undefined): ApiClient => {
  const base = url.replace(/\/+$/, '');

  const call = async (path: string, init: CallInit): Promise<Response> => {
    let response: Response;
    try {
      response = await fetch(`${base}${path}`, {
        ...init,
        headers: { ...(key !== undefined && { authorization: `Bearer ${key}` }), ...init.headers },
      });
    } catch (error) {
      init.signal?.throwIfAborted();
      throw connectionError(error, base);
    }
    if (response.ok) return response;
    const refusal = await refusalOf(response, base);
    throw key === undefined && refusal.code === 'unauthenticated'
      ? new CliError('unauthenticated', `${base} wants a key, and none was given.`)
      : refusal;
  };

  const bounded = <T>(run: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    const signal = AbortSignal.timeout(ANSWER_MS);
    return run(signal).catch((error: unknown) => {
      throw signal.aborted
        ? new CliError('unreachable', `${base} did not answer within ${ANSWER_MS / 1000} s.`)
        : error;
    });
  };

  const json = async <T>(response: Response): Promise<T> => {
    try {
      return (await response.json()) as T;
    } catch (error) {
      throw new CliError('internal', `${base} answered something that is not JSON.`, {
        cause: error,
        next: commandWords().notTheService,
      });
    }
  };

  const rpcInit = (method: string, params: unknown, options: RpcOptions): CallInit => ({
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'a2a-version': '1.0',
      ...(options.idempotencyKey !== undefined && { 'idempotency-key': options.idempotencyKey }),
      ...(options.lastEventId !== undefined && { 'last-event-id': String(options.lastEventId) }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    ...(options.signal && { signal: options.signal }),
  });
  const rpcPath = ({ agent }: RpcOptions) => (agent === undefined ? '/' : `/agents/${encodeURIComponent(agent)}`);

  return {
    url: base,
    get: (path, query) => bounded(async (signal) => json(await call(path + search(query), { signal }))),
    post: (path, body) =>
      bounded(async (signal) =>
        json(
          await call(path, {
            method: 'POST',
            signal,
            ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
          }),
        ),
      ),
    remove: (path) => bounded(async (signal) => void (await call(path, { method: 'DELETE', signal }))),
    download: async (path, query) => {
      const response = await call(path + search(query), {});
      const bytes = Number(response.headers.get('content-length') ?? Number.NaN);
      return { body: bodyOf(response, base), bytes: Number.isFinite(bytes) ? bytes : undefined };
    },
    rpc: async <T>(method: string, params: unknown, options: RpcOptions = {}) => {
      const answer = await json<{ readonly result?: T; readonly error?: WireError }>(
        await call(rpcPath(options), rpcInit(method, params, options)),
      );
      return resultOf(answer);
    },
    async *stream(method, params, options) {
      const silence = new AbortController();
      const timer = setTimeout(() => silence.abort(), SILENCE_MS);
      const signal = options.signal ? AbortSignal.any([options.signal, silence.signal]) : silence.signal;
      try {
        const response = await call(rpcPath(options), rpcInit(method, params, { ...options, signal }));
        if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
          yield {
            seq: undefined,
            response: resultOf(await json<{ result?: StreamResponse; error?: WireError }>(response)),
          };
          return;
        }
        for await (const event of parseSse(bodyOf(response, base))) {
          timer.refresh();
          if (!event) continue;
          const seq = event.id !== undefined && /^\d+$/.test(event.id) ? Number(event.id) : undefined;
          yield { seq, response: resultOf(JSON.parse(event.data) as { result?: StreamResponse; error?: WireError }) };
        }
      } catch (error) {
        options.signal?.throwIfAborted();
        throw silence.signal.aborted
          ? new CliError('unreachable', `${base} has said nothing for ${SILENCE_MS / 1000} s.`, { isTransient: true })
          : error;
      } finally {
        clearTimeout(timer);
        silence.abort();
      }
    },
  };
};

const search = (query: Query = {}): string => {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as const],
  );
  return pairs.length === 0 ? '' : `?${new URLSearchParams(Object.fromEntries(pairs)).toString()}`;
};

const resultOf = <T>({ result, error }: { readonly result?: T; readonly error?: WireError }): T => {
  if (result !== undefined) return result;
  throw (
    (error && wireError(error)) ??
    new CliError('internal', error?.message ?? 'The service answered neither a result nor an error.')
  );
};

/** The pieces of an answer; a line that breaks in the middle is a `CliError` like one that was never made. */
async function* bodyOf(response: Response, url: string): AsyncGenerator<Uint8Array> {
  try {
    if (response.body) yield* response.body;
  } catch (error) {
    throw connectionError(error, url);
  }
}
