import type { ErrorCode, SealaneError } from '#domain';

import { legacyErrorData } from '../v03/v03-errors.ts';

/** 0.1 has codes of its own beyond -32005, with other meanings than those of later versions. */
const STREAMING_NOT_SUPPORTED = -32006;
const AUTHENTICATION_REQUIRED = -32007;
const AUTHORIZATION_FAILED = -32008;
const INVALID_TASK_STATE = -32009;
const RATE_LIMITED = -32010;
const UNAVAILABLE = -32011;

const CODES = {
  'task-not-found': -32001,
  'task-not-cancelable': -32002,
  'push-not-supported': -32003,
  'unsupported-operation': -32004,
  'content-type-not-supported': -32005,
  'invalid-agent-response': -32603,
  'extended-card-not-configured': -32004,
  'extension-required': -32004,
  'version-not-supported': -32004,

  'parse-error': -32700,
  'invalid-request': -32600,
  'method-not-found': -32601,
  'invalid-params': -32602,
  internal: -32603,

  unauthenticated: AUTHENTICATION_REQUIRED,
  forbidden: AUTHORIZATION_FAILED,
  'agent-not-found': -32602,
  'too-large': -32600,
  'rate-limited': RATE_LIMITED,
  'lane-full': RATE_LIMITED,
  'owner-full': RATE_LIMITED,
  'would-wait-for-itself': INVALID_TASK_STATE,
  'idempotency-conflict': -32602,
  'storage-full': UNAVAILABLE,
  unavailable: UNAVAILABLE,

  'not-found': -32004,
  conflict: INVALID_TASK_STATE,
  'store-locked': UNAVAILABLE,
  'store-newer': UNAVAILABLE,
  'store-damaged': UNAVAILABLE,
  'store-unwritable': UNAVAILABLE,
  'bad-config': -32603,
} as const satisfies Record<ErrorCode, number>;

/** The `error` member of a JSON-RPC answer as 0.1 wants it. */
export const encodeV01Error = (error: SealaneError): string =>
  JSON.stringify({ code: codeOf(error), message: error.message, data: legacyErrorData(error) });

/** What later versions call an unsupported operation is three things here. */
const codeOf = ({ code, facts }: SealaneError): number => {
  if (code !== 'unsupported-operation') return CODES[code];
  if (facts['taskId'] !== undefined) return INVALID_TASK_STATE;
  return facts['capability'] === 'streaming' ? STREAMING_NOT_SUPPORTED : CODES[code];
};
