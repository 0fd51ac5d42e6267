import { type JsonObject, SealaneError } from '#domain';
import type { ConditionName, Refused } from '#store';

/** Same code and same words for a foreign task and for an unknown one, so that no caller can tell them apart. */
export const taskNotFound = (id: string): SealaneError =>
  new SealaneError('task-not-found', `Task "${id}" was not found among those that this key may see.`, {
    facts: { taskId: id },
  });

/** The error for a caller when the store has refused. */
export const refusalOf = (
  refused: Refused,
  context: { readonly id?: string; readonly laneWaiting: number },
): SealaneError => {
  switch (refused.why) {
    case 'condition':
      return CONDITION_REFUSALS[refused.name](refused.facts);
    case 'absent':
      return taskNotFound(context.id ?? '');
    case 'full':
      return new SealaneError(
        'lane-full',
        `This conversation already has ${context.laneWaiting} waiting messages, which is the limit. Wait until some are done, or cancel some.`,
        { retryAfterMs: 10_000, facts: { limit: 'limits.laneWaiting', value: String(context.laneWaiting) } },
      );
    case 'owner-full':
      return new SealaneError(
        'owner-full',
        'You have reached your limit of waiting tasks. Wait until some are done, or cancel some.',
        {
          retryAfterMs: 10_000,
          facts: { limit: 'limits.ownerWaiting' },
        },
      );
    case 'busy':
      return new SealaneError(
        'unsupported-operation',
        'The task accepts no message now: its turn waits, or its agent accepts no message while it works. Wait until the task has ended or asks for input, or send a new task in the same context.',
        { facts: { ...(context.id && { taskId: context.id }) } },
      );
    case 'terminal':
    case 'canceled':
      return new SealaneError(
        'unsupported-operation',
        'The task has ended. Send a new message in the same context, with this task in referenceTaskIds if it matters.',
        { facts: { ...(context.id && { taskId: context.id }) } },
      );
    case 'conflict':
      return new SealaneError(
        'idempotency-conflict',
        'This Idempotency-Key was used with another request. Use a new key for a new request.',
      );
    case 'push-full':
      return new SealaneError(
        'invalid-params',
        'The task has reached its limit of webhooks. Remove one, or give the id of one to replace it.',
        { facts: { field: 'id', ...(context.id && { taskId: context.id }) } },
      );
    case 'task-full':
      return new SealaneError(
        'unsupported-operation',
        'The task has reached its limit of size. Send a new message in the same context, with this task in referenceTaskIds if it matters.',
        { facts: { limit: 'limits.taskBytes', ...(context.id && { taskId: context.id }) } },
      );
    case 'loop':
      return new SealaneError(
        'would-wait-for-itself',
        'The message comes from a run of the same conversation and would wait for that run to end. Use another contextId.',
      );
    case 'unfinished':
    case 'lost':
      return new SealaneError('unavailable', 'This run belongs to another instance now. Try again.', {
        retryAfterMs: 1000,
      });
  }
};

/** The error for a caller when a condition of an admission does not hold. */
const CONDITION_REFUSALS: Readonly<Record<ConditionName, (facts: JsonObject) => SealaneError>> = {
  probe: ({ key }) =>
    new SealaneError('unsupported-operation', `There is nothing left of the probe ${JSON.stringify(key)}.`),
};
