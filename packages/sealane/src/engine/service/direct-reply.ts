import { type Artifact, type Message, type Part, textOf } from '#domain';
import type { StoredTask } from '#store';

/** The Message that answers a direct call, when its turn has completed. Its caller knows of no task to ask for. */
export const directReplyOf = (task: StoredTask): Message | undefined => {
  if (!task.direct || task.state !== 'completed') return undefined;
  const parts = (JSON.parse(task.artifacts) as readonly Artifact[]).flatMap((artifact) => artifact.parts);
  if (task.statusMessage === null) {
    return parts.length === 0
      ? undefined
      : { messageId: task.id, role: 'ROLE_AGENT', parts, contextId: task.contextId };
  }
  const { taskId: _taskId, ...message } = JSON.parse(task.statusMessage) as Message;
  return isBeginningOf(message.parts, parts) ? { ...message, parts } : message;
};

/** A status has only the beginning of a long answer, and none of its files: nobody could ask for the rest of it. */
export const isBeginningOf = (said: readonly Part[], parts: readonly Part[]): boolean =>
  parts.length > 0 && said.every(({ text }) => text !== undefined) && textOf(parts).startsWith(textOf(said));
