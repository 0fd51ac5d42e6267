import { DIALECT, encodeEvent } from '#protocol/event-encoder';
import { encodePushBody } from '#protocol/push-body';
import type { EncodePush } from '#push';

/**
 * What a webhook is sent. 1.0 is told each event by itself; older dialects get the whole task, which is fetched only for
 * events that can be worth it: a chunk never is, or a long answer would be sent once for each of its words.
 */
export const encodePush: EncodePush = async ({ config, event, task, taskThen }) => {
  if (config.dialect === DIALECT) return { body: encodeEvent(event, task), contentType: 'application/a2a+json' };
  if (event.event.kind === 'artifact-added') return undefined;
  const then = await taskThen();
  return then && encodePushBody(config, event, then);
};
