import type { SealaneError } from '#domain';
import type { AgentRegistry, Caller, StreamItem, TaskService } from '#engine';

import type { CallHeaders } from './call-headers.ts';
import type { Capabilities } from './capabilities.ts';
import type { Negotiate, Negotiated } from './extensions/negotiation.ts';

/** Everything about a call but its method and params. */
export interface CallContext {
  readonly caller: Caller;
  /** The agent named by the address; the caller cannot choose another. */
  readonly agent: string | undefined;
  readonly headers: CallHeaders;
  readonly extensions: Negotiated;
  /** The address under which this caller reaches the service, without a slash at its end. */
  readonly baseUrl: () => string;
  /** Aborts when the caller has left. */
  readonly signal: AbortSignal;
}

/** A stream that the caller's binding writes as it likes; `encode` gives an item's JSON in the method's dialect. */
export interface StreamResult {
  readonly items: AsyncIterable<StreamItem>;
  readonly encode: (item: StreamItem) => string;
}

/** JSON text of the result, or a stream of such texts. Refusals are thrown. */
export type MethodResult = string | StreamResult;

export type Method = (params: unknown, context: CallContext) => Promise<MethodResult>;

/** One way to speak: the methods of a protocol version, or those of the extensions, and how it words errors. */
export interface Dialect {
  /** `1.0`, or `0.3` and `0.2`, …; the methods of extensions answer in every version and have none. */
  readonly versions: readonly string[];
  readonly methods: ReadonlyMap<string, Method>;
  /** JSON text of the `error` member of a JSON-RPC answer. */
  readonly encodeError: (error: SealaneError) => string;
}

/** What the methods of every dialect stand on. */
export interface ProtocolDeps {
  readonly service: TaskService;
  readonly registry: AgentRegistry;
  readonly capabilities: Capabilities;
  readonly negotiate: Negotiate;
  /** The card that a known caller may see, as A2A 1.0 JSON text. */
  readonly extendedCard: (context: CallContext) => Promise<string>;
}
