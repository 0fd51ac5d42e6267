import { SealaneError } from '#domain';

import { isObject } from './field-reader.ts';

export type RpcId = string | number | null;

export type Envelope =
  | {
      readonly ok: true;
      readonly id: RpcId;
      readonly isNotification: boolean;
      readonly method: string;
      readonly params: unknown;
    }
  | { readonly ok: false; readonly id: RpcId; readonly error: SealaneError };

const MAX_RPC_ID_LENGTH = 256;

/** Reads a parsed body as a JSON-RPC 2.0 request. A refusal carries the request's id where it has a usable one. */
export const readEnvelope = (body: unknown): Envelope => {
  if (Array.isArray(body)) return refusal(null, 'Batches are not taken: send the requests one by one.');
  if (!isObject(body)) return refusal(null, 'A request is a JSON object with jsonrpc, id, method and params.');
  const { id = null } = body;
  if (!isRpcId(id)) {
    return refusal(
      null,
      `The id must be a string of at most ${MAX_RPC_ID_LENGTH} characters, or a whole number below 2^53.`,
    );
  }
  if (body['jsonrpc'] !== '2.0') return refusal(id, 'The member jsonrpc must be "2.0".');
  const { method } = body;
  if (typeof method !== 'string' || method === '') return refusal(id, 'The member method must be a string.');
  return { ok: true, id, isNotification: body['id'] === undefined, method, params: body['params'] };
};

const refusal = (id: RpcId, message: string): Envelope => ({
  ok: false,
  id,
  error: new SealaneError('invalid-request', message),
});

/** A number that a double cannot hold would come back as another id. */
const isRpcId = (id: unknown): id is RpcId =>
  id === null || (typeof id === 'string' ? id.length <= MAX_RPC_ID_LENGTH : Number.isSafeInteger(id));
