import { type JsonObject, SealaneError } from '#domain';
import type { ConditionName, Refused } from '#store';

/** A foreign task and an unknown one are told apart by nobody: same code, same words. */
export const taskNotFound = (id: string): SealaneError =>
  new SealaneError('task-not-found', `Task "${id}" was not found among those that this key may see.`, {
    facts: { taskId: id },
  });

/** What the store refused, in words for the caller. */
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
        'You have as many waiting tasks as you may. Wait until some are done, or cancel some.',
        {
          retryAfterMs: 10_000,
          facts: { limit: 'limits.ownerWaiting' },
        },
      );
    case 'busy':
      return new SealaneError(
        'unsupported-operation',
        'The task takes no message now: its turn waits, or is being worked on by an agent that takes none meanwhile. Wait until it has ended or asks for input, or send a new task in the same context.',
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
        'The task has as many webhooks as it may. Remove one, or give the id of one to replace it.',
        { facts: { field: 'id', ...(context.id && { taskId: context.id }) } },
      );
    case 'task-full':
      return new SealaneError(
        'unsupported-operation',
        'The task has become as large as a task may be. Send a new message in the same context, with this task in referenceTaskIds if it matters.',
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

/** A condition of an admission that does not hold, in words for the caller. */
const CONDITION_REFUSALS: Readonly<Record<ConditionName, (facts: JsonObject) => SealaneError>> = {
  probe: ({ key }) =>
    new SealaneError('unsupported-operation', `There is nothing left of the probe ${JSON.stringify(key)}.`),
};
