import { STATES } from '#domain';
import type { NewPushConfig } from '#engine';

import { findFlag, findInteger, findMetadata, findTexts, invalid, requireFields } from '../field-reader.ts';
import { decodeListParams, executorOf, type ListParams, type SendParams } from '../request-decoder.ts';
import { STATE_NAMES } from '../state-names.ts';
import { decodeV03Message } from './v03-message.ts';
import { decodeV03PushConfig } from './v03-push-config.ts';

const MAX_INT32 = 2_147_483_647;

/** What `message/send` and `message/stream` take; tenants were not in the body then. */
export const decodeV03SendParams = (value: unknown): SendParams => {
  const params = requireFields(value, 'params');
  const message = decodeV03Message(params['message'], 'message');
  const metadata = findMetadata(params['metadata'], 'metadata');
  const configuration = params['configuration'] ?? undefined;
  let returnImmediately = false;
  let historyLength: number | undefined;
  let outputModes: readonly string[] | undefined;
  let push: NewPushConfig | undefined;
  if (configuration !== undefined) {
    const fields = requireFields(configuration, 'configuration');
    outputModes = findTexts(fields['acceptedOutputModes'], 'configuration.acceptedOutputModes');
    // The specification leaves the default open; the SDK's servers wait unless told otherwise, and so do we.
    returnImmediately = findFlag(fields['blocking'], 'configuration.blocking') === false;
    historyLength = findInteger(fields['historyLength'], 'configuration.historyLength', 0, MAX_INT32);
    const webhook = fields['pushNotificationConfig'] ?? undefined;
    if (webhook !== undefined) push = decodeV03PushConfig(webhook, 'configuration.pushNotificationConfig');
  }
  return {
    tenant: undefined,
    message,
    metadata,
    returnImmediately,
    historyLength,
    executor: executorOf(message, metadata),
    outputModes,
    push,
  };
};

/** Like 1.0's, with the state by its name of 0.3. */
export const decodeV03ListParams = (value: unknown): ListParams => {
  const params = requireFields(value ?? {}, 'params');
  const named = params['status'] ?? '';
  if (named === '') return decodeListParams(params);
  const state = STATES.find((known) => known === named);
  if (state === undefined) throw invalid('status', 'must be the name of a state, like "working".');
  return decodeListParams({ ...params, status: STATE_NAMES[state] });
};
