import type { Logger } from 'pino';

import type { ErrorCode } from '#domain';
import type { AgentRegistry } from '#engine';
import type { Keys, RateLimiter, UnreadAnswers } from '#identity';
import type { Protocol } from '#protocol';

/** Everything the gRPC front stands on. */
export interface GrpcDeps {
  readonly protocol: Protocol;
  readonly registry: AgentRegistry;
  readonly keys: Keys;
  readonly rateLimiter: RateLimiter;
  readonly unread: UnreadAnswers;
  readonly log: Logger;
  readonly metrics: GrpcMetrics;
  /** Where HTTP is reached by a caller that reached us at this `host:port`, for the other addresses on a card. */
  readonly baseUrl: (authority: string) => string;
}

export interface GrpcOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** The largest message that is taken in. */
  readonly bodyLimitBytes: number;
  /** A reader that takes nothing for so long is told to come back with `last-event-id`. */
  readonly stallMs: number;
  /** A request must have arrived by then; answers may take as long as they like. */
  readonly requestTimeoutMs: number;
  /** How long calls may take to end when the server closes; what remains then is cut. */
  readonly closeGraceMs: number;
}

export const GRPC_DEFAULTS: GrpcOptions = {
  host: '127.0.0.1',
  port: 0,
  bodyLimitBytes: 1024 * 1024,
  stallMs: 60_000,
  requestTimeoutMs: 60_000,
  closeGraceMs: 5000,
};

/** Called on the hot path: must be cheap and must not throw. */
export interface GrpcMetrics {
  /** A call was answered, or its stream began. */
  called(method: string, outcome: 'ok' | ErrorCode, durationMs: number): void;
  streamOpened(): void;
  streamClosed(): void;
}
