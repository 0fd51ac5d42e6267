import {
  type Answer,
  type CallOptions,
  type Driver,
  headersOf,
  type Item,
  type Operation,
  type Params,
  refusalOf,
  streamOf,
} from './driver.ts';
import { abortable, isEventStream, sseData } from './sse-data.ts';

interface RpcAnswer<T> {
  readonly result?: T;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: Parameters<typeof refusalOf>[2] };
}

/** JSON-RPC at `url`. */
export const createJsonRpcDriver = (url: string, key: string): Driver => {
  let calls = 0;
  const post = (
    method: Operation,
    params: Params,
    options: CallOptions,
    signal: AbortSignal | null = null,
  ): Promise<Response> => {
    calls += 1;
    return fetch(url, {
      method: 'POST',
      headers: { ...headersOf(key, options), 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: calls, method, params }),
      signal,
    });
  };
  const read = async <T>(response: Response): Promise<Answer<T>> => {
    const extensions = response.headers.get('a2a-extensions') ?? '';
    const { result, error } = (await response.json()) as RpcAnswer<T>;
    return error
      ? { extensions, error: refusalOf(error.code, error.message, error.data) }
      : { extensions, result: result as T };
  };
  async function* itemsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Item> {
    for await (const { result, error } of sseData<RpcAnswer<Item>>(body)) {
      if (!result) throw new Error(`The stream broke: ${error?.message}`);
      yield result;
    }
  }
  return {
    binding: 'JSONRPC',
    call: async (operation, params, options = {}) => read(await post(operation, params, options)),
    open: async (operation, params, options = {}) => {
      const { signal, leave } = abortable();
      const response = await post(operation, params, options, signal);
      if (!isEventStream(response) || !response.body) return read(response);
      const extensions = response.headers.get('a2a-extensions') ?? '';
      return { extensions, result: streamOf(itemsOf(response.body), leave) };
    },
    close: () => undefined,
  };
};
