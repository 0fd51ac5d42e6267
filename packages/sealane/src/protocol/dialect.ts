import type { SealaneError } from '#domain';
import type { Caller, StreamItem } from '#engine';

import type { CallHeaders } from './call-headers.ts';

/** Everything about a call but its method and params. */
export interface CallContext {
  readonly caller: Caller;
  /** The agent named by the address; the caller cannot choose another. */
  readonly agent: string | undefined;
  readonly headers: CallHeaders;
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

/** One way to speak: the methods of a protocol version, or of an extension, and how it words errors. */
export interface Dialect {
  /** `1.0`, `0.3`, …; an extension's methods answer in every version and have none. */
  readonly version: string | undefined;
  readonly methods: ReadonlyMap<string, Method>;
  /** JSON text of the `error` member. */
  readonly encodeError: (error: SealaneError) => string;
}
