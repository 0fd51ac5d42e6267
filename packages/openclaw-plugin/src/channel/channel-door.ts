import { IncomingMessage, type ServerResponse } from 'node:http';

import type { Sealane } from 'sealane';

import { findTaskId, translateCall, withoutTaskId } from './rpc-translation.ts';

/** The addresses of the channel, from the origin of the Gateway on. */
export const CHANNEL_CALLS = '/a2a/v1';
export const CHANNEL_CARDS = ['/.well-known/agent-card.json', '/.well-known/agent.json'] as const;

const BODY_LIMIT_BYTES = 1024 * 1024;
const MAX_BATCH = 30;

export interface ChannelDoorOptions {
  readonly sealane: Pick<Sealane, 'app' | 'handler' | 'keys'>;
  /** Where the service is below the origin of the Gateway. */
  readonly prefix: string;
  /** The agent of each peer, by the name of its key. */
  readonly agentOf: ReadonlyMap<string, string>;
  /** A call that could not be passed on, which is a fault of ours. */
  readonly onError: (error: unknown) => void;
}

/** Takes requests at the addresses of the channel and hands them to the service, which answers them. */
export interface ChannelDoor {
  /** The request is at an address of the channel. */
  isMeant(request: IncomingMessage): boolean;
  take(request: IncomingMessage, response: ServerResponse): void;
}

export interface RouteRegistry {
  registerHttpRoute(route: {
    readonly path: string;
    readonly match: 'prefix';
    readonly auth: 'plugin';
    readonly handler: (request: IncomingMessage, response: ServerResponse) => boolean;
  }): void;
}

/**
 * The address of calls is below that of the service. The cards are not: they are at the origin, where the channel has
 * exact routes while it runs. As prefixes ours stand behind those and never in their way, in whatever order the two
 * come and go.
 */
export const registerCardRoutes = (
  api: RouteRegistry,
  handler: (request: IncomingMessage, response: ServerResponse) => boolean,
): void => {
  for (const path of CHANNEL_CARDS) api.registerHttpRoute({ path, match: 'prefix', auth: 'plugin', handler });
};

export const createChannelDoor = ({ sealane, prefix, agentOf, onError }: ChannelDoorOptions): ChannelDoor => {
  /** Where the agent is that the caller speaks with; undefined for a key that nobody knows. */
  const findPath = async ({ headers }: IncomingMessage): Promise<string | undefined> => {
    const holder = await sealane.keys.authenticate(headers.authorization);
    if (holder === undefined) return undefined;
    const agent = holder.keyId.startsWith(GIVEN) ? agentOf.get(holder.keyId.slice(GIVEN.length)) : undefined;
    return agent === undefined ? prefix : `${prefix}/agents/${encodeURIComponent(agent)}`;
  };

  /** A call of its own, for what is not just passed on. */
  const ask = async (path: string, { headers }: IncomingMessage, call: Translated): Promise<unknown> => {
    const { body } = await sealane.app.inject({
      method: 'POST',
      url: path,
      headers: {
        authorization: headers.authorization,
        host: headers.host ?? '127.0.0.1',
        'content-type': 'application/json',
        ...(call.version !== undefined && { 'a2a-version': call.version }),
      },
      payload: JSON.stringify(call.body),
    });
    return body === '' ? undefined : JSON.parse(body);
  };

  /** The channel begins a new task with every message; the service refuses one for a task that has ended. */
  const translate = async (path: string, request: IncomingMessage, body: unknown): Promise<Translated> => {
    const call = translateCall(body);
    const id = findTaskId(call.body);
    if (id === undefined) return call;
    const known = await ask(path, request, {
      body: { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id, historyLength: 0 } },
      version: '1.0',
    });
    return isOpen(known) ? call : { ...call, body: withoutTaskId(call.body) };
  };

  const takeBatch = async (path: string, request: IncomingMessage, batch: readonly unknown[]): Promise<unknown> => {
    if (batch.length === 0) return refusal(-32_600, 'A batch has at least one request.');
    if (batch.length > MAX_BATCH) return refusal(-32_000, `A batch has at most ${MAX_BATCH} requests.`);
    const answers = await Promise.all(
      batch.map(async (body) =>
        isStream(body)
          ? refusal(-32_600, 'A stream cannot be part of a batch: send it alone.', idOf(body))
          : ask(path, request, await translate(path, request, body)),
      ),
    );
    const told = answers.filter((answer) => answer !== undefined);
    return told.length === 0 ? undefined : told;
  };

  const takeCall = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.method === 'POST' ? await findPath(request) : undefined;
    if (path === undefined) {
      // The service says what is wrong with it, without looking at the body of a stranger.
      request.url = prefix;
      sealane.handler(request, response);
      return;
    }
    const text = await readBody(request);
    if (text === undefined) {
      answer(response, 413, refusal(-32_600, 'The request is larger than 1 MiB.'));
      return;
    }
    const body = findJson(text);
    if (Array.isArray(body)) {
      answer(response, 200, await takeBatch(path, request, body));
      return;
    }
    const call = body === undefined ? undefined : await translate(path, request, body);
    const again = repeat(request, path, call ? JSON.stringify(call.body) : text, call?.version);
    sealane.handler(again, response);
  };

  return {
    isMeant: (request) => isCall(request) || isCard(request),
    take: (request, response) => {
      if (isCard(request)) {
        request.url = `${prefix}${request.url ?? ''}`;
        sealane.handler(request, response);
        return;
      }
      takeCall(request, response).catch((error: unknown) => {
        // A caller that hangs up in the middle of its request is its own affair.
        if (!request.destroyed || request.complete) onError(error);
        if (!response.headersSent) answer(response, 500, refusal(-32_603, 'The request could not be taken.'));
        else response.destroy();
      });
    },
  };
};

const pathOf = ({ url = '' }: IncomingMessage): string => url.split('?', 1)[0] ?? '';

const isCall = (request: IncomingMessage): boolean => pathOf(request) === CHANNEL_CALLS;

const isCard = (request: IncomingMessage): boolean => CHANNEL_CARDS.some((path) => pathOf(request) === path);

type Translated = ReturnType<typeof translateCall>;

/** How the service calls keys whose secrets it was given. */
const GIVEN = 'given:';

const ENDED = /^TASK_STATE_(COMPLETED|FAILED|CANCELED|REJECTED)$/;

const isOpen = (answer: unknown): boolean => {
  const task = (answer as { readonly result?: { readonly status?: { readonly state?: string } } } | undefined)?.result;
  return task?.status?.state !== undefined && !ENDED.test(task.status.state);
};

/** `undefined`: there is more than we take. */
const readBody = async (request: IncomingMessage): Promise<string | undefined> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_LIMIT_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
};

const findJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** The request with another body: what was read from it cannot be read again. */
const repeat = (request: IncomingMessage, url: string, text: string, version: string | undefined): IncomingMessage => {
  const again = new IncomingMessage(request.socket);
  const body = Buffer.from(text);
  const { 'transfer-encoding': _encoding, ...headers } = request.headers;
  again.method = 'POST';
  again.url = url;
  again.headers = {
    ...headers,
    'content-type': 'application/json',
    'content-length': String(body.length),
    ...(version !== undefined && { 'a2a-version': version }),
  };
  again.complete = true;
  again.push(body);
  again.push(null);
  return again;
};

const fieldOf = (body: unknown, name: 'id' | 'method'): unknown =>
  typeof body === 'object' && body !== null ? (body as Readonly<Record<string, unknown>>)[name] : undefined;

const idOf = (body: unknown): unknown => fieldOf(body, 'id') ?? null;

/** By every name that a method which answers with a stream has, in all versions. */
const isStream = (body: unknown): boolean => /stream|subscribe/i.test(String(fieldOf(body, 'method')));

const refusal = (code: number, message: string, id: unknown = null): unknown => ({
  jsonrpc: '2.0',
  id,
  error: { code, message },
});

const answer = (response: ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(body === undefined ? '' : JSON.stringify(body));
};
