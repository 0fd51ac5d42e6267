import { type Event, fold, type Message } from '#domain';
import type { Run, TaskStore } from '#store';

import { isBeginningOf } from '../service/direct-reply.ts';
import { logPages } from '../feed/log-pages.ts';

/**
 * What was said in a task before a turn, for agents that keep no session. The task's own history has of an answer only
 * what stood in a status: the beginning of a long one, or nothing of what was said before a question. So where there
 * were answers, the log is read: what an agent said is one message, in its place.
 */
export const conversationBefore = async (
  store: Pick<TaskStore, 'find' | 'read'>,
  { token: { taskId }, message: { messageId } }: Run,
): Promise<readonly Message[]> => {
  const task = await store.find('all', taskId);
  if (!task) return [];
  const messages =
    task.artifacts === '[]'
      ? (JSON.parse(task.history) as Message[])
      : await readConversation(store, taskId, task.contextId, task.seq);
  const own = messages.findLastIndex((known) => known.messageId === messageId);
  return own < 0 ? messages : messages.toSpliced(own, 1);
};

const readConversation = async (
  store: Pick<TaskStore, 'read'>,
  taskId: string,
  contextId: string,
  last: number,
): Promise<Message[]> => {
  let messages: Message[] = [];
  /** What the agent has said since the last message. */
  let said: Event[] = [];

  const hear = (seq: number, message?: Message): void => {
    const parts = fold(undefined, said).artifacts.flatMap((artifact) =>
      artifact.parts.filter(({ text }) => text !== undefined && text !== ''),
    );
    said = [];
    if (parts.length > 0 && message?.role === 'ROLE_AGENT' && isBeginningOf(message.parts, parts)) {
      messages.push({ ...message, parts });
      return;
    }
    if (parts.length > 0)
      messages.push({ messageId: `${taskId}.${seq}`, role: 'ROLE_AGENT', parts, contextId, taskId });
    if (message) messages.push(message);
  };

  for await (const page of logPages(store, 'all', taskId, { after: 0, last })) {
    for (const entry of page) {
      const { seq, event } = entry;
      if (event.kind === 'artifact-added') said.push(entry);
      // Another attempt says it anew.
      else if (event.kind === 'run-started') said = [];
      else if (event.kind === 'task-put') messages = [...event.snapshot.history];
      else if (event.kind === 'status-reported') {
        if (event.message && event.state !== 'working') hear(seq, event.message);
      } else if ('message' in event) hear(seq, event.message);
    }
  }
  return messages;
};
