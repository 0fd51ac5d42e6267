import { SealaneError } from '#domain';
import type { StreamItem } from '#engine';

import type { CallContext, Dialect, Method } from './dialect.ts';
import { encodeRpcError } from './errors.ts';
import { requireExtensions } from './extensions.ts';
import { parseJson } from './json-text.ts';
import { readEnvelope, type RpcId } from './rpc-envelope.ts';
import { findVersion, versionNotSupported } from './version.ts';

/** What became of a request, ready to be written. `method` is undefined while nobody knows it, for the metrics. */
export type RpcAnswer =
  | {
      readonly kind: 'single';
      readonly method: string | undefined;
      readonly text: string;
      readonly error: SealaneError | undefined;
    }
  | {
      readonly kind: 'stream';
      readonly method: string;
      readonly items: AsyncIterable<StreamItem>;
      /** One item as a whole JSON-RPC answer. */
      readonly frame: (item: StreamItem) => string;
      /** What tells the reader that the stream broke. */
      readonly failure: (error: SealaneError) => string;
    };

export interface RpcCall {
  readonly body: string;
  /** As the caller wrote it, from the header or the query. */
  readonly version: string | undefined;
  readonly context: CallContext;
  /** Turns anything thrown into what the caller may know. */
  readonly explain: (thrown: unknown) => SealaneError;
}

export interface Rpc {
  /** Never rejects: whatever goes wrong is an answer. */
  answer(call: RpcCall): Promise<RpcAnswer>;
}

/** An error answer to a request of which nothing, or only the id, is known. */
export const encodeRpcRefusal = (error: SealaneError, id: RpcId = null): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":${encodeRpcError(error)}}`;

/** JSON-RPC 2.0 over any number of dialects; the first is the one that unknown callers are answered in. */
export const createRpc = (dialects: readonly Dialect[]): Rpc => {
  const versions = [...new Set(dialects.flatMap((dialect) => dialect.versions))];
  const names = [...(dialects[0]?.methods.keys() ?? [])].join(', ');

  /** A version narrows the choice; without one the method's name decides, since no two dialects share one by accident. */
  const choose = (method: string, asked: string | undefined): { dialect: Dialect; run: Method } => {
    const version = findVersion(asked);
    if (version !== undefined && !versions.includes(version)) throw versionNotSupported(version, versions);
    for (const dialect of dialects) {
      if (version !== undefined && dialect.versions.length > 0 && !dialect.versions.includes(version)) continue;
      const run = dialect.methods.get(method);
      if (run !== undefined) return { dialect, run };
    }
    throw new SealaneError(
      'method-not-found',
      `There is no method "${method.slice(0, 80).toWellFormed()}". Known methods: ${names}.`,
    );
  };

  const answer = async ({ body, version, context, explain }: RpcCall): Promise<RpcAnswer> => {
    let id: RpcId = null;
    let method: string | undefined;
    let encodeError = encodeRpcError;
    try {
      const envelope = readEnvelope(parseJson(body));
      id = envelope.id;
      if (!envelope.ok) throw envelope.error;
      const chosen = choose(envelope.method, version);
      method = envelope.method;
      encodeError = chosen.dialect.encodeError;
      requireExtensions(context.extensions);
      const result = await chosen.run(envelope.params, context);
      const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},`;
      if (typeof result === 'string')
        return { kind: 'single', method, text: `${head}"result":${result}}`, error: undefined };
      return {
        kind: 'stream',
        method,
        items: result.items,
        frame: (item) => `${head}"result":${result.encode(item)}}`,
        failure: (error) => `${head}"error":${encodeError(error)}}`,
      };
    } catch (thrown) {
      const error = explain(thrown);
      const text = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":${encodeError(error)}}`;
      return { kind: 'single', method, text, error };
    }
  };

  return { answer };
};
