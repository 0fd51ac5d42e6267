import type { SeenTask, Turn } from '#agents';
import { fold, type Message, type NewEvent, type TaskSnapshot } from '#domain';
import type { Run, StoredTask, TaskStore } from '#store';

import { conversationBefore } from './conversation.ts';
import { logPages } from '../feed/log-pages.ts';
import type { RunLoss } from './run-loss.ts';

/** What a turn may look back at, read when it is asked for. */
export type Past = Pick<Turn, 'history' | 'before' | 'references'>;

type PastStore = Pick<TaskStore, 'find' | 'read'>;

export const pastOf = (store: PastStore, run: Run, loss: RunLoss): Past => ({
  history: () => loss.orTold(conversationBefore(store, run)),
  before: () => loss.orTold(taskBefore(store, run)),
  references: () => loss.orTold(referencedTasks(store, run)),
});

/** The same id and other words are another message: some clients use an id several times. */
const isMessageOf = ({ message }: Run, event: NewEvent): boolean =>
  event.kind === 'message-received' &&
  event.message.messageId === message.messageId &&
  JSON.stringify(event.message.parts) === JSON.stringify(message.parts);

const taskBefore = async (store: PastStore, run: Run): Promise<SeenTask | undefined> => {
  const { taskId: id } = run.token;
  let snapshot: TaskSnapshot | undefined;
  for await (const page of logPages(store, 'all', id, { after: 0, last: run.seq })) {
    const own = page.findIndex(({ event }) => isMessageOf(run, event));
    snapshot = fold(snapshot, own < 0 ? page : page.slice(0, own));
    if (own >= 0) return { ...snapshot, id, contextId: run.contextId };
  }
  return undefined;
};

/** Whoever sent the message may see them: that was asked when it came in. */
const referencedTasks = async (store: PastStore, { owner, tenant, message }: Run): Promise<readonly SeenTask[]> => {
  const seen: SeenTask[] = [];
  for (const id of new Set(message.referenceTaskIds)) {
    const task = await store.find({ owner, tenant }, id);
    if (task) seen.push(seenTask(task));
  }
  return seen;
};

const seenTask = (task: StoredTask): SeenTask => ({
  id: task.id,
  contextId: task.contextId,
  state: task.state,
  statusAt: task.statusAt,
  ...(task.statusMessage !== null && { statusMessage: JSON.parse(task.statusMessage) as Message }),
  artifacts: JSON.parse(task.artifacts) as SeenTask['artifacts'],
  history: JSON.parse(task.history) as SeenTask['history'],
  metadata: JSON.parse(task.metadata) as SeenTask['metadata'],
});
