import { randomUUID } from 'node:crypto';

import type { Message } from '#domain';
import type { PushConfig } from '#engine';

import { decodeSendFacts } from '../call-headers.ts';
import type { CallContext } from '../dialect.ts';
import { findId, findInteger, findMetadata, findTexts, requireFields, requireId } from '../field-reader.ts';
import { executorOf, type SendParams } from '../request-decoder.ts';
import { decodeSpeech } from '../v03/v03-message.ts';
import { uuidOf } from './client-task.ts';
import { decodeV01Webhook } from './v01-push-config.ts';

const MAX_INT32 = 2_147_483_647;

export interface V01SendParams extends Pick<SendParams, 'metadata' | 'executor' | 'outputModes'> {
  /** What the caller calls its task. */
  readonly name: string;
  readonly sessionId: string | undefined;
  readonly message: Message;
  readonly historyLength: number;
  readonly webhook: Omit<PushConfig, 'id'> | undefined;
}

/** What `tasks/send` and `tasks/sendSubscribe` take. */
export const decodeV01SendParams = (value: unknown, context: CallContext): V01SendParams => {
  const params = requireFields(value, 'params');
  const name = requireId(params['id'], 'id');
  const metadata = findMetadata(params['metadata'], 'metadata');
  const message = decodeV01Message(params['message'], name, context);
  const webhook = params['pushNotification'] ?? undefined;
  return {
    name,
    sessionId: findId(params['sessionId'], 'sessionId'),
    message,
    metadata,
    executor: executorOf(message, metadata),
    outputModes: findTexts(params['acceptedOutputModes'], 'acceptedOutputModes'),
    historyLength: decodeHistoryLength(params['historyLength']),
    webhook: webhook === undefined ? undefined : decodeV01Webhook(webhook, 'pushNotification', name),
  };
};

/**
 * Messages of 0.1 have no id, so they get one. Under an idempotency key it follows from the key and what is said: a
 * repetition must be the same message.
 */
const decodeV01Message = (value: unknown, name: string, { headers, caller }: CallContext): Message => {
  const fields = requireFields(value, 'message');
  const speech = decodeSpeech(fields, 'message', 'type');
  const { idempotencyKey } = decodeSendFacts(headers);
  const made =
    idempotencyKey === undefined
      ? randomUUID()
      : uuidOf(['message', caller.owner, name, idempotencyKey, JSON.stringify(speech)]);
  return { messageId: findId(fields['messageId'], 'message.messageId') ?? made, ...speech };
};

/** Absent, null and 0 are alike: no history. */
const decodeHistoryLength = (value: unknown): number => findInteger(value, 'historyLength', 0, MAX_INT32) ?? 0;

/** What `tasks/get`, `tasks/cancel` and `tasks/resubscribe` take. */
export const decodeV01TaskParams = (value: unknown): { readonly name: string; readonly historyLength: number } => {
  const params = requireFields(value, 'params');
  findMetadata(params['metadata'], 'metadata');
  return { name: requireId(params['id'], 'id'), historyLength: decodeHistoryLength(params['historyLength']) };
};
