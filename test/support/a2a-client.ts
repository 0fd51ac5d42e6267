import { randomUUID } from 'node:crypto';

import { type EventStream, readEventStream } from './event-stream.ts';

export interface WirePart {
  readonly text?: string;
  readonly raw?: string;
  readonly url?: string;
  readonly data?: unknown;
  readonly mediaType?: string;
  readonly filename?: string;
}

export interface WireMessage {
  readonly messageId: string;
  readonly role: string;
  readonly parts: readonly WirePart[];
  readonly contextId?: string;
  readonly taskId?: string;
}

/** A task as A2A 1.0 shows it. */
export interface WireTask {
  readonly id: string;
  readonly contextId: string;
  readonly status: { readonly state: string; readonly message?: WireMessage; readonly timestamp: string };
  readonly artifacts?: readonly { readonly artifactId: string; readonly parts: readonly WirePart[] }[];
  readonly history?: readonly WireMessage[];
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface WirePage {
  readonly tasks: readonly WireTask[];
  readonly nextPageToken: string;
  readonly pageSize: number;
  readonly totalSize: number;
}

/** What a JSON-RPC answer says is wrong. */
export class RpcFailure extends Error {
  override readonly name = 'RpcFailure';
  readonly code: number;
  readonly status: number;
  readonly data: readonly { readonly reason?: string; readonly metadata?: Readonly<Record<string, string>> }[];
  readonly headers: Headers;

  constructor(error: { code: number; message: string; data?: RpcFailure['data'] }, response: Response) {
    super(error.message);
    this.code = error.code;
    this.data = error.data ?? [];
    this.status = response.status;
    this.headers = response.headers;
  }
}

export interface SendOptions {
  readonly contextId?: string;
  readonly taskId?: string;
  readonly messageId?: string;
  readonly metadata?: object;
  readonly configuration?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly parts?: readonly WirePart[];
  readonly message?: object;
}

/** A small A2A client of the tests' own, so that what they see is what goes over the wire. */
export interface A2aClient {
  /** Any call, answered with whatever came back. */
  post(body: string, headers?: Readonly<Record<string, string>>): Promise<Response>;
  /** A JSON-RPC call; throws `RpcFailure`. */
  call<T>(method: string, params: unknown, headers?: Readonly<Record<string, string>>): Promise<T>;
  /** Sends a text and waits for its turn to end or to ask something. */
  send(text: string, options?: SendOptions): Promise<WireTask>;
  /** Sends a text and takes the task as it is then. */
  submit(text: string, options?: SendOptions): Promise<WireTask>;
  get(id: string, historyLength?: number): Promise<WireTask>;
  list(params?: object): Promise<WirePage>;
  cancel(id: string): Promise<WireTask>;
  /** Sends a text and reads what happens; a refusal is thrown. */
  stream(text: string, options?: SendOptions): Promise<EventStream>;
  subscribe(id: string, lastEventId?: number | string): Promise<EventStream>;
  /** The same calls with another key, or at another path. */
  with(changes: { readonly key?: string; readonly path?: string }): A2aClient;
}

export interface ClientOptions {
  readonly url: string;
  readonly key: string;
  readonly path?: string;
}

export const createA2aClient = ({ url, key, path = '/a2a' }: ClientOptions): A2aClient => {
  const post: A2aClient['post'] = (body, headers) =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'a2a-version': '1.0', ...headers },
      body,
    });
  const ask = (method: string, params: unknown, headers?: Readonly<Record<string, string>>): Promise<Response> =>
    post(JSON.stringify({ jsonrpc: '2.0', id: 'call', method, params }), headers);
  const call: A2aClient['call'] = async <T>(
    method: string,
    params: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => resultOf<T>(await ask(method, params, headers));
  const open = async (
    method: string,
    params: unknown,
    headers: Readonly<Record<string, string>>,
  ): Promise<EventStream> => {
    const response = await ask(method, params, headers);
    if (!response.headers.get('content-type')?.startsWith('text/event-stream')) await resultOf(response);
    return readEventStream(response);
  };
  const send = async (text: string, options: SendOptions, configuration: object): Promise<WireTask> => {
    const { task } = await call<{ task: WireTask }>(
      'SendMessage',
      sendParams(text, options, configuration),
      options.headers,
    );
    return task;
  };
  return {
    post,
    call,
    send: (text, options = {}) => send(text, options, {}),
    submit: (text, options = {}) => send(text, options, { returnImmediately: true }),
    get: (id, historyLength) => call('GetTask', { id, ...(historyLength !== undefined && { historyLength }) }),
    list: (params = {}) => call('ListTasks', params),
    cancel: (id) => call('CancelTask', { id }),
    stream: (text, options = {}) => open('SendStreamingMessage', sendParams(text, options, {}), options.headers ?? {}),
    subscribe: (id, lastEventId) =>
      open('SubscribeToTask', { id }, lastEventId === undefined ? {} : { 'last-event-id': String(lastEventId) }),
    with: (changes) => createA2aClient({ url, key, path, ...changes }),
  };
};

export const sendParams = (text: string, options: SendOptions, configuration: object): object => {
  const { contextId, taskId, messageId = randomUUID(), metadata, parts = [{ text }] } = options;
  return {
    message: {
      messageId,
      role: 'ROLE_USER',
      parts,
      ...(contextId && { contextId }),
      ...(taskId && { taskId }),
      ...options.message,
    },
    configuration: { ...configuration, ...options.configuration },
    ...(metadata && { metadata }),
  };
};

const resultOf = async <T>(response: Response): Promise<T> => {
  const { result, error } = (await response.json()) as {
    result?: T;
    error?: ConstructorParameters<typeof RpcFailure>[0];
  };
  if (error) throw new RpcFailure(error, response);
  return result as T;
};

/** The refusal of a call that must not succeed. */
export const refusalOf = async (call: Promise<unknown>): Promise<RpcFailure> => {
  const outcome = await call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ('error' in outcome && outcome.error instanceof RpcFailure) return outcome.error;
  throw new Error(
    `The call was expected to be refused: ${'error' in outcome ? String(outcome.error) : JSON.stringify(outcome.value)}`,
  );
};

/** All text of a task's artifacts. */
export const answerOf = (task: WireTask): string =>
  (task.artifacts ?? []).flatMap(({ parts }) => parts.map(({ text }) => text ?? '')).join('');

/** The text of a task's last status. */
export const statusTextOf = (task: WireTask): string =>
  (task.status.message?.parts ?? []).map(({ text }) => text ?? '').join('');
