import { type Artifact, type Message, type Part, textOf } from '#domain';
import type { StoredTask } from '#store';

/** The Message that answers a direct call, if its turn has completed. The caller has no task that it could ask for. */
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

/**
 * True if a status says only the beginning of an answer. A status leaves out the rest of a long text, and all files.
 * The caller of a direct reply has no task to ask for them.
 */
export const isBeginningOf = (said: readonly Part[], parts: readonly Part[]): boolean =>
  parts.length > 0 && said.every(({ text }) => text !== undefined) && textOf(parts).startsWith(textOf(said));
