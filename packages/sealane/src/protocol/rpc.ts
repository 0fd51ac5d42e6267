import { SealaneError } from '#domain';
import type { StreamItem } from '#engine';

import type { CallHeaders } from './call-headers.ts';
import type { CallContext, Dialect } from './dialect.ts';
import { encodeRpcError } from './errors.ts';
import { requireExtensions } from './extensions/negotiation.ts';
import { invalid, isObject } from './field-reader.ts';
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
  /** Throws when a result of this length cannot be sent now. */
  readonly admit: (length: number) => void;
}

export interface Rpc {
  /** Never rejects: whatever goes wrong is an answer. */
  answer(call: RpcCall): Promise<RpcAnswer>;
}

/** An error answer to a request of which nothing, or only the id, is known. */
export const encodeRpcRefusal = (error: SealaneError, id: RpcId = null): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":${encodeRpcError(error)}}`;

/** Decides between dialects that have a method in common, for a call that names no version. */
export type Settle = (candidates: readonly Dialect[], params: unknown, context: CallContext) => Promise<Dialect>;

/** JSON-RPC 2.0 over any number of dialects; the first is the one that unknown callers are answered in. */
export const createRpc = (dialects: readonly [Dialect, ...Dialect[]], settle?: Settle): Rpc => {
  const versions = [...new Set(dialects.flatMap((dialect) => dialect.versions))];

  /** Whose words a caller gets to hear until its method is known. */
  const dialectOf = (version: string | undefined): Dialect =>
    dialects.find((dialect) => version !== undefined && dialect.versions.includes(version)) ?? dialects[0];

  const byMethod = Map.groupBy(
    dialects.flatMap((dialect) => [...dialect.methods.keys()].map((method) => ({ method, dialect }))),
    ({ method }) => method,
  );
  const known = new Map([...byMethod].map(([method, found]) => [method, found.map(({ dialect }) => dialect)]));

  /** A version narrows the choice; without one the method's name decides. */
  const candidatesFor = (method: string, version: string | undefined): readonly Dialect[] => {
    if (version !== undefined && !versions.includes(version)) throw versionNotSupported(version, versions);
    const all = known.get(method) ?? [];
    if (version === undefined) return all;
    const [only] = all;
    if (all.length === 1 && only?.versions.includes(version)) return all;
    return all.filter((dialect) => dialect.versions.length === 0 || dialect.versions.includes(version));
  };

  const answer = async ({ body, version: asked, context, explain, admit }: RpcCall): Promise<RpcAnswer> => {
    const version = findVersion(asked);
    let id: RpcId = null;
    let method: string | undefined;
    let dialect = dialectOf(version);
    const head = (): string => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},`;
    const failure = (error: SealaneError): string => `${head()}"error":${dialect.encodeError(error)}}`;
    try {
      const envelope = readEnvelope(parseJson(body));
      id = envelope.id;
      if (!envelope.ok) throw envelope.error;
      const { params } = envelope;
      const candidates = candidatesFor(envelope.method, version);
      dialect =
        (candidates.length > 1 && settle ? await settle(candidates, params, context) : candidates[0]) ?? dialect;
      const run = dialect.methods.get(envelope.method);
      if (run === undefined) throw methodNotFound(envelope.method, dialect);
      method = envelope.method;
      if (envelope.isNotification) throw noId(params);
      requireExtensions(context.extensions);
      const result = await run(params, context);
      if (typeof result === 'string') {
        admit(result.length);
        return { kind: 'single', method, text: `${head()}"result":${result}}`, error: undefined };
      }
      const { items, encode } = result;
      const start = `${head()}"result":`;
      return { kind: 'stream', method, items, frame: (item) => `${start}${encode(item)}}`, failure };
    } catch (thrown) {
      if (method !== undefined && isOld(dialect) && takesOnlyEvents(context.headers)) {
        return { kind: 'stream', method, items: failing(thrown), frame: () => '', failure };
      }
      const error = explain(thrown);
      return { kind: 'single', method, text: failure(error), error };
    }
  };

  return { answer };
};

const isOld = ({ versions }: Dialect): boolean => versions.some((version) => version.startsWith('0.'));

/**
 * Clients before 1.0 that ask for a stream take nothing else for an answer: a refusal in plain JSON is only a wrong
 * content type to them. They find it in the stream, as their servers always told it.
 */
const takesOnlyEvents = ({ accept }: CallHeaders): boolean =>
  typeof accept === 'string' && accept.includes('text/event-stream') && !accept.includes('application/json');

// oxlint-disable-next-line require-yield
async function* failing(thrown: unknown): AsyncGenerator<StreamItem, void, undefined> {
  throw thrown;
}

/** Nobody could hear the answer, so nothing is done; what else is wrong with the request is said first. */
const noId = (params: unknown): SealaneError =>
  params === undefined || isObject(params)
    ? new SealaneError('invalid-request', 'The request has no id: every A2A call has an answer, so give it one.')
    : invalid('params', 'must be an object.');

const methodNotFound = (method: string, { methods }: Dialect): SealaneError =>
  new SealaneError(
    'method-not-found',
    `There is no method "${method.slice(0, 80).toWellFormed()}". Known methods: ${[...methods.keys()].join(', ')}.`,
  );
