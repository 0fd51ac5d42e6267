import { type Artifact, type Event, type JsonObject, type Message, type State, textOf } from '#domain';
import type { StoredTask } from '#store';

import { type TaskInput, viewOf } from './seed-task.ts';

/** A status as the shelf has it: its message is plain text. */
export interface ShelfStatus {
  readonly state: State;
  readonly message: string | null;
  readonly timestamp: string;
}

/** A task as the shelf shows it: `history` is what its status was before. */
export interface ShelfTask {
  readonly id: string;
  readonly contextId: string;
  readonly kind: 'task';
  readonly status: ShelfStatus;
  readonly artifacts: readonly Artifact[];
  readonly history: readonly ShelfStatus[];
  readonly metadata: JsonObject;
}

/** What can be put on a shelf: everything but the id can be missing. */
export interface ShelfInput extends Omit<TaskInput, 'history'> {
  readonly history?: readonly ShelfStatus[];
}

/**
 * Where the statuses before are kept that came with a task: for everybody else `history` is what was said, as in A2A.
 * Who sees the task otherwise finds them here.
 */
const PAST = 'statusHistory';

export const inputOf = ({ history, metadata, ...task }: ShelfInput): TaskInput => ({
  ...task,
  metadata: { ...metadata, ...(history !== undefined && { [PAST]: history.map((status) => ({ ...status })) }) },
});

/** A task that somebody else has written brings no such list; its log knows what its status was. */
export const shelfTaskOf = async (task: StoredTask, readLog: () => Promise<readonly Event[]>): Promise<ShelfTask> => {
  const {
    status: { state, message, timestamp },
    metadata: { [PAST]: past, ...metadata },
    history: _messages,
    ...view
  } = viewOf(task);
  const history = Array.isArray(past) ? (past as unknown as readonly ShelfStatus[]) : statusesIn(await readLog());
  return { ...view, status: { state, message: wordsOf(message), timestamp }, history, metadata };
};

/** All statuses but the last, which is the one that the task has. */
const statusesIn = (log: readonly Event[]): readonly ShelfStatus[] => {
  const all: ShelfStatus[] = [];
  for (const { at, event } of log) {
    if (event.kind === 'artifact-added') continue;
    const put = event.kind === 'task-put' ? event.snapshot : undefined;
    const said = event.kind === 'status-reported' || event.kind === 'turn-ended' ? event.message : put?.statusMessage;
    const status = { state: event.state, message: wordsOf(said), timestamp: put?.statusAt ?? at };
    const last = all.at(-1);
    if (last?.state !== status.state || last.message !== status.message) all.push(status);
  }
  return all.slice(0, -1);
};

const wordsOf = (message: Message | undefined): string | null => (message ? textOf(message.parts) : null);
