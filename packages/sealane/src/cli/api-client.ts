import { connectionError, redirected, refusalOf, wireError, type WireError } from './api-error.ts';
import { CliError, usageError } from './cli-error.ts';
import { commandWords } from './command-name.ts';
import { parseSse, type SseEvent } from './sse-parser.ts';
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
  /** Something came, if only a heartbeat. */
  readonly onAlive?: () => void;
}

type CallInit = Omit<RequestInit, 'headers'> & { readonly headers?: Readonly<Record<string, string>> };
type Query = Readonly<Record<string, string | number | undefined>>;

/** Calls to a service: the admin API as plain HTTP, A2A as JSON-RPC. Refusals and broken lines are `CliError`s. */
export interface ApiClient {
  readonly url: string;
  /** `members` are those that an answer of the service has: without them, something else has answered. */
  get<T>(path: string, query?: Query, members?: readonly (keyof T & string)[]): Promise<T>;
  post<T>(path: string, body?: unknown, members?: readonly (keyof T & string)[]): Promise<T>;
  remove(path: string): Promise<void>;
  /** An answer to be read piece by piece; one of another media type is not the service's. */
  download(
    path: string,
    mediaType: string,
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
        // A message would arrive as a question without a body, and at another host without its key.
        redirect: 'manual',
        headers: writable({ ...(key !== undefined && { authorization: `Bearer ${key}` }), ...init.headers }),
      });
    } catch (error) {
      init.signal?.throwIfAborted();
      throw error instanceof CliError ? error : connectionError(error, base);
    }
    if (response.ok) return response;
    if (response.status >= 300 && response.status < 400) throw redirected(response, base);
    const refusal = await refusalOf(response, base);
    throw key === undefined && refusal.code === 'unauthenticated'
      ? new CliError('unauthenticated', `${base} wants a key, and none was given.`)
      : refusal;
  };

  const bounded = <T>(run: (signal: AbortSignal) => Promise<T>, outer?: AbortSignal): Promise<T> => {
    const patience = AbortSignal.timeout(ANSWER_MS);
    return run(outer ? AbortSignal.any([outer, patience]) : patience).catch((error: unknown) => {
      outer?.throwIfAborted();
      throw patience.aborted
        ? new CliError('unreachable', `${base} did not answer within ${ANSWER_MS / 1000} s.`, { isTransient: true })
        : error;
    });
  };

  const strange = (what: string, cause?: unknown): CliError =>
    new CliError('internal', `${base} answered ${what}.`, { cause, next: commandWords().notTheService });

  const json = async <T>(response: Response, members: readonly string[] = []): Promise<T> => {
    let answer: unknown;
    try {
      answer = await response.json();
    } catch (error) {
      throw error instanceof SyntaxError ? strange('something that is not JSON', error) : connectionError(error, base);
    }
    if (typeof answer === 'object' && answer !== null && members.every((member) => Object.hasOwn(answer, member)))
      return answer as T;
    throw strange('something that no service says');
  };

  const resultOf = <T>({ result, error }: { readonly result?: T; readonly error?: WireError }): T => {
    if (result !== undefined && result !== null) return result;
    if (error?.message === undefined) throw strange('neither a result nor an error');
    throw wireError(error) ?? new CliError('internal', error.message);
  };

  const eventOf = ({ id, data }: SseEvent): Frame => {
    let answer: { readonly result?: StreamResponse; readonly error?: WireError };
    try {
      answer = JSON.parse(data) as typeof answer;
    } catch (error) {
      throw strange('something that is not JSON', error);
    }
    return { seq: id !== undefined && /^\d+$/.test(id) ? Number(id) : undefined, response: resultOf(answer) };
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
  const rpcPath = ({ agent }: RpcOptions) => (agent === undefined ? '/' : `/agents/${pathWord(agent)}`);

  return {
    url: base,
    get: (path, query, members) =>
      bounded(async (signal) => json(await call(path + search(query), { signal }), members)),
    post: (path, body, members) =>
      bounded(async (signal) =>
        json(
          await call(path, {
            method: 'POST',
            signal,
            ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
          }),
          members,
        ),
      ),
    remove: (path) => bounded(async (signal) => void (await call(path, { method: 'DELETE', signal }))),
    download: async (path, mediaType, query) => {
      const response = await call(path + search(query), {});
      if (!response.headers.get('content-type')?.startsWith(mediaType)) {
        // Nobody reads the rest, and it may have no end.
        await response.body?.cancel();
        throw strange('something that no service says');
      }
      const bytes = Number(response.headers.get('content-length') ?? Number.NaN);
      return { body: bodyOf(response, base), bytes: Number.isFinite(bytes) ? bytes : undefined };
    },
    rpc: <T>(method: string, params: unknown, options: RpcOptions = {}) =>
      bounded(
        async (signal) =>
          resultOf(
            await json<{ readonly result?: T; readonly error?: WireError }>(
              await call(rpcPath(options), rpcInit(method, params, { ...options, signal })),
            ),
          ),
        options.signal,
      ),
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
          options.onAlive?.();
          if (event) yield eventOf(event);
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

/** A name or an id as a word of a path. Those that a path has a meaning of its own for would call something else. */
export const pathWord = (word: string): string => {
  if (word === '' || word === '.' || word === '..') throw usageError(`"${word}" is no name and no id.`);
  return encodeURIComponent(word);
};

/** Headers as they can be sent: anything but visible ASCII is a slip of whoever typed it, and no fault of the line. */
const writable = (headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> => {
  for (const [name, value] of Object.entries(headers)) {
    if (/^[\t -~]*$/.test(value)) continue;
    const what = { authorization: 'The key', 'idempotency-key': '--idempotency-key' }[name] ?? name;
    throw usageError(
      `${what} has characters in it that cannot be sent: only ASCII can.`,
      name === 'authorization' ? 'correct --key or SEALANE_API_KEY' : undefined,
    );
  }
  return headers;
};

const search = (query: Query = {}): string => {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as const],
  );
  return pairs.length === 0 ? '' : `?${new URLSearchParams(Object.fromEntries(pairs)).toString()}`;
};

/** The pieces of an answer; a line that breaks in the middle is a `CliError` like one that was never made. */
async function* bodyOf(response: Response, url: string): AsyncGenerator<Uint8Array> {
  try {
    if (response.body) yield* response.body;
  } catch (error) {
    throw connectionError(error, url);
  }
}
