import type { Logger } from 'pino';

import type { ErrorCode } from '#domain';
import type { AgentRegistry, TaskService } from '#engine';
import type { Keys, RateLimiter, UnreadAnswers } from '#identity';
import type { Protocol } from '#protocol';
import type { Storage } from '#store';

/** Everything the HTTP front stands on. */
export interface HttpDeps {
  readonly protocol: Protocol;
  /** For the operator's routes; callers go through `protocol`. */
  readonly service: TaskService;
  readonly registry: AgentRegistry;
  /** For the operator's routes; callers go through `service`. */
  readonly storage: Storage;
  readonly keys: Keys;
  readonly rateLimiter: RateLimiter;
  readonly unread: UnreadAnswers;
  readonly log: Logger;
  readonly metrics: HttpMetrics;
  /** True: this service can do nothing more, and must be started again. */
  readonly hasFailed?: () => boolean;
  /** `ok`, or what keeps the service from doing its work. */
  readonly ready: () => Promise<Readiness>;
  /** Runs of an agent on this instance. */
  readonly running: (agent: string) => number;
  readonly now: () => number;
  readonly version: string;
  readonly instance: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly options?: Partial<HttpOptions>;
}

export interface Readiness {
  /** `ok`, or what anybody may know. */
  readonly status: string;
  /** What only the operator may know: where the store is, and what is wrong with it. */
  readonly detail?: string;
}

export interface HttpOptions {
  /** The address under which clients reach us, path included; without it, what their Host header says. */
  readonly publicUrl: string | undefined;
  /** The address we listen on. */
  readonly host: string;
  /** Host headers to answer to beyond loopback, `host` and `publicUrl`; `any` leaves the check to the server around us. */
  readonly allowedHosts: readonly string[] | 'any';
  /** Web origins that may call from a browser. */
  readonly allowedOrigins: readonly string[];
  /** Peers whose `Forwarded` and `X-Forwarded-*` count: addresses, ranges like `10.0.0.0/8`, `loopback`. */
  readonly trustedProxies: readonly string[];
  /** Where the routes begin when the app is mounted in another server that leaves the path as it is. */
  readonly prefix: string;
  readonly bodyLimitBytes: number;
  readonly heartbeatMs: number;
  /** A reader that takes nothing for so long is cut off; it can come back with Last-Event-ID. */
  readonly stallMs: number;
  /** Where a backup is made before it is sent; by default the system's folder for such files. */
  readonly scratchDir: string | undefined;
}

export const HTTP_DEFAULTS: HttpOptions = {
  publicUrl: undefined,
  host: '127.0.0.1',
  allowedHosts: [],
  allowedOrigins: [],
  trustedProxies: [],
  prefix: '',
  bodyLimitBytes: 1024 * 1024,
  heartbeatMs: 15_000,
  stallMs: 60_000,
  scratchDir: undefined,
};

/** Called on the hot path: must be cheap and must not throw. */
export interface HttpMetrics {
  /** An answer was written; `route` is the pattern, never the address. */
  answered(route: string, status: number, durationMs: number): void;
  /** A JSON-RPC call was answered, or its stream began. */
  called(method: string, outcome: 'ok' | ErrorCode, durationMs: number): void;
  streamOpened(): void;
  streamClosed(): void;
  render(): Promise<{ readonly contentType: string; readonly text: string }>;
}
