/** Everything that a caller can be told. The table in `protocol/` gives each its JSON-RPC, HTTP and gRPC code. */
export type ErrorCode =
  // A2A's own
  | 'task-not-found'
  | 'task-not-cancelable'
  | 'push-not-supported'
  | 'unsupported-operation'
  | 'content-type-not-supported'
  | 'invalid-agent-response'
  | 'extended-card-not-configured'
  | 'extension-required'
  | 'version-not-supported'
  // JSON-RPC's own
  | 'parse-error'
  | 'invalid-request'
  | 'method-not-found'
  | 'invalid-params'
  | 'internal'
  // admission
  | 'unauthenticated'
  | 'forbidden'
  | 'agent-not-found'
  | 'too-large'
  | 'rate-limited'
  | 'lane-full'
  | 'owner-full'
  | 'would-wait-for-itself'
  | 'idempotency-conflict'
  | 'storage-full'
  | 'unavailable'
  // the operator's
  | 'not-found'
  | 'conflict'
  | 'store-locked'
  | 'store-newer'
  | 'store-damaged'
  | 'store-unwritable'
  | 'bad-config';

export interface ErrorDetails {
  readonly cause?: unknown;
  /** When it makes sense to try again. */
  readonly retryAfterMs?: number;
  /** Facts a program can act on, never secrets: the field at fault, the limit that was met. */
  readonly facts?: Readonly<Record<string, string>>;
  /** What callers are told in its place, where the message names the operator's machines, files or settings. */
  readonly forCallers?: string;
}

/** An error with a code; its message tells the reader what to do next. */
export class SealaneError extends Error {
  override readonly name = 'SealaneError';
  readonly code: ErrorCode;
  readonly retryAfterMs: number | undefined;
  readonly facts: Readonly<Record<string, string>>;
  readonly forCallers: string | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.retryAfterMs = details.retryAfterMs;
    this.facts = details.facts ?? {};
    this.forCallers = details.forCallers;
  }
}
