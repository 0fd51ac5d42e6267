/** Just enough of an A2A client: it reads answers and streams as they are, and hides no failure. */
export interface A2aClient {
  call(method: string, params: object, options?: CallOptions): Promise<RpcAnswer>;
  /** Frames with their ids, until the stream ends; throws when it breaks. */
  stream(method: string, params: object, options?: CallOptions): AsyncGenerator<SseFrame, void, undefined>;
  /** GET below `/admin`. */
  admin(path: string): Promise<Response>;
}

export interface CallOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly agent?: string;
  readonly signal?: AbortSignal;
}

export interface RpcAnswer {
  readonly result?: { readonly [key: string]: unknown };
  readonly error?: { readonly code: number; readonly message: string };
}

export interface SseFrame {
  readonly id: number | undefined;
  readonly data: RpcAnswer;
}

export const createA2aClient = (url: string, key: string): A2aClient => {
  const post = (method: string, params: object, { headers = {}, agent, signal }: CallOptions): Promise<Response> =>
    fetch(`${url}${agent === undefined ? '/' : `/agents/${agent}`}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'a2a-version': '1.0',
        authorization: `Bearer ${key}`,
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      ...(signal && { signal }),
    });
  return {
    call: async (method, params, options = {}) => (await (await post(method, params, options)).json()) as RpcAnswer,
    stream: async function* (method, params, options = {}) {
      const response = await post(method, params, options);
      if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
        yield { id: undefined, data: (await response.json()) as RpcAnswer };
        return;
      }
      if (!response.body) throw new Error('The stream has no body.');
      yield* framesOf(response.body);
    },
    admin: async (path) => {
      const response = await fetch(`${url}/admin${path}`, { headers: { authorization: `Bearer ${key}` } });
      if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
      return response;
    },
  };
};

async function* framesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<SseFrame, void, undefined> {
  let text = '';
  for await (const piece of body.pipeThrough(new TextDecoderStream())) {
    text += piece;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const lines = text.slice(0, end).split('\n');
      text = text.slice(end + 2);
      const data = lines.filter((line) => line.startsWith('data: ')).map((line) => line.slice(6));
      const id = lines.find((line) => line.startsWith('id: '))?.slice(4);
      if (data.length > 0) {
        yield { id: id === undefined ? undefined : Number(id), data: JSON.parse(data.join('\n')) as RpcAnswer };
      }
    }
  }
}
