import { type ErrorCode, SealaneError } from '#domain';

/** What an error is on each binding. `status` is the gRPC status by name, which REST shows too. */
export interface ErrorEntry {
  readonly jsonRpc: number;
  readonly http: number;
  readonly grpc: GrpcStatus;
  readonly reason: string;
}

export type GrpcStatus = keyof typeof GRPC_STATUS;

export const GRPC_STATUS = {
  INVALID_ARGUMENT: 3,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const;

const entry = (jsonRpc: number, http: number, grpc: GrpcStatus, reason: string): ErrorEntry => ({
  jsonRpc,
  http,
  grpc,
  reason,
});

/**
 * Every error that a caller can meet. The first nine are A2A's (specification 1.0.1, §5.4), the next five JSON-RPC's;
 * Sealane's own begin at -32010, inside the range that JSON-RPC leaves to servers and outside A2A's.
 */
export const ERRORS = {
  'task-not-found': entry(-32001, 404, 'NOT_FOUND', 'TASK_NOT_FOUND'),
  'task-not-cancelable': entry(-32002, 400, 'FAILED_PRECONDITION', 'TASK_NOT_CANCELABLE'),
  'push-not-supported': entry(-32003, 400, 'FAILED_PRECONDITION', 'PUSH_NOTIFICATION_NOT_SUPPORTED'),
  'unsupported-operation': entry(-32004, 400, 'FAILED_PRECONDITION', 'UNSUPPORTED_OPERATION'),
  'content-type-not-supported': entry(-32005, 400, 'INVALID_ARGUMENT', 'CONTENT_TYPE_NOT_SUPPORTED'),
  'invalid-agent-response': entry(-32006, 500, 'INTERNAL', 'INVALID_AGENT_RESPONSE'),
  'extended-card-not-configured': entry(-32007, 400, 'FAILED_PRECONDITION', 'EXTENDED_AGENT_CARD_NOT_CONFIGURED'),
  'extension-required': entry(-32008, 400, 'FAILED_PRECONDITION', 'EXTENSION_SUPPORT_REQUIRED'),
  'version-not-supported': entry(-32009, 400, 'FAILED_PRECONDITION', 'VERSION_NOT_SUPPORTED'),

  'parse-error': entry(-32700, 400, 'INVALID_ARGUMENT', 'PARSE_ERROR'),
  'invalid-request': entry(-32600, 400, 'INVALID_ARGUMENT', 'INVALID_REQUEST'),
  'method-not-found': entry(-32601, 404, 'UNIMPLEMENTED', 'METHOD_NOT_FOUND'),
  'invalid-params': entry(-32602, 400, 'INVALID_ARGUMENT', 'INVALID_PARAMS'),
  internal: entry(-32603, 500, 'INTERNAL', 'INTERNAL'),

  unauthenticated: entry(-32010, 401, 'UNAUTHENTICATED', 'UNAUTHENTICATED'),
  forbidden: entry(-32011, 403, 'PERMISSION_DENIED', 'FORBIDDEN'),
  'agent-not-found': entry(-32012, 404, 'NOT_FOUND', 'AGENT_NOT_FOUND'),
  'too-large': entry(-32013, 413, 'RESOURCE_EXHAUSTED', 'TOO_LARGE'),
  'rate-limited': entry(-32014, 429, 'RESOURCE_EXHAUSTED', 'RATE_LIMITED'),
  'lane-full': entry(-32015, 429, 'RESOURCE_EXHAUSTED', 'LANE_FULL'),
  'owner-full': entry(-32016, 429, 'RESOURCE_EXHAUSTED', 'OWNER_FULL'),
  'would-wait-for-itself': entry(-32017, 409, 'FAILED_PRECONDITION', 'WOULD_WAIT_FOR_ITSELF'),
  'idempotency-conflict': entry(-32018, 409, 'ALREADY_EXISTS', 'IDEMPOTENCY_CONFLICT'),
  'storage-full': entry(-32019, 503, 'RESOURCE_EXHAUSTED', 'STORAGE_FULL'),
  unavailable: entry(-32020, 503, 'UNAVAILABLE', 'UNAVAILABLE'),

  'not-found': entry(-32021, 404, 'NOT_FOUND', 'NOT_FOUND'),
  conflict: entry(-32022, 409, 'FAILED_PRECONDITION', 'CONFLICT'),
  'store-locked': entry(-32023, 503, 'UNAVAILABLE', 'STORE_LOCKED'),
  'store-newer': entry(-32024, 503, 'UNAVAILABLE', 'STORE_NEWER'),
  'store-damaged': entry(-32025, 503, 'UNAVAILABLE', 'STORE_DAMAGED'),
  'store-unwritable': entry(-32026, 503, 'UNAVAILABLE', 'STORE_UNWRITABLE'),
  'bad-config': entry(-32027, 500, 'INTERNAL', 'BAD_CONFIG'),
} as const satisfies Record<ErrorCode, ErrorEntry>;

/** The operator's errors name files and settings, which are no caller's business. */
const OPERATOR_ONLY: ReadonlySet<ErrorCode> = new Set([
  'store-locked',
  'store-newer',
  'store-damaged',
  'store-unwritable',
  'bad-config',
]);

const A2A_DOMAIN = 'a2a-protocol.org';
const SEALANE_DOMAIN = 'sealane.dev';

const isA2aCode = (code: number): boolean => code <= -32001 && code >= -32009;

/** The details that all bindings share: what a program can act on, in Google's error model. */
export const errorDetailsOf = (error: SealaneError): readonly object[] => {
  const { jsonRpc, reason } = ERRORS[error.code];
  const details: object[] = [
    {
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason,
      domain: isA2aCode(jsonRpc) ? A2A_DOMAIN : SEALANE_DOMAIN,
      metadata: error.facts,
    },
  ];
  const { field } = error.facts;
  if (error.code === 'invalid-params' && field !== undefined) {
    const fieldViolations = [{ field, description: error.message }];
    details.push({ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations });
  }
  if (error.retryAfterMs !== undefined) {
    const retryDelay = `${error.retryAfterMs / 1000}s`;
    details.push({ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay });
  }
  return details;
};

/** The `error` member of a JSON-RPC 2.0 answer, as A2A 1.0 wants it. */
export const encodeRpcError = (error: SealaneError): string =>
  JSON.stringify({ code: ERRORS[error.code].jsonRpc, message: error.message, data: errorDetailsOf(error) });

/** For the operator, who is told what callers are not. */
export interface ErrorReports {
  /** A bug: whole, with its stack. */
  failed(thrown: unknown): void;
  /** Trouble that many callers may meet at once, such as a database that is away: one line for each is enough. */
  refused(detail: string): void;
}

/**
 * What a caller is told about anything that was thrown. A `SealaneError` speaks for itself, or has other words for
 * callers; all else is a bug or the operator's matter: it is reported whole under `correlationId`, and the caller learns
 * only that id.
 */
export const errorForCaller = (thrown: unknown, correlationId: string, reports: ErrorReports): SealaneError => {
  const speaksForItself =
    thrown instanceof SealaneError && thrown.code !== 'internal' && !OPERATOR_ONLY.has(thrown.code);
  if (speaksForItself) {
    const { code, message, forCallers, retryAfterMs, facts } = thrown;
    if (forCallers === undefined) return thrown;
    reports.refused(message);
    return new SealaneError(code, forCallers, {
      cause: thrown,
      facts,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    });
  }
  reports.failed(thrown);
  const facts = { correlationId };
  if (thrown instanceof SealaneError && OPERATOR_ONLY.has(thrown.code)) {
    return new SealaneError('unavailable', `The service cannot work now. Tell its operator this id: ${correlationId}`, {
      cause: thrown,
      facts,
    });
  }
  return new SealaneError('internal', `Something broke here. Tell the operator this id: ${correlationId}`, {
    cause: thrown,
    facts,
  });
};
