import { describe, expect, it } from 'vitest';

import type { Event, Message, NewEvent } from '#domain';
import type { Run, StoredTask, TaskStore } from '#store';

import { pastOf } from './past.ts';
import { RunLoss } from './run-loss.ts';

const message = (messageId: string, text: string, more: Partial<Message> = {}): Message => ({
  messageId,
  role: 'ROLE_USER',
  parts: [{ text }],
  ...more,
});
const received = (words: Message): NewEvent => ({ kind: 'message-received', state: 'working', message: words });

/** A run of the task with this log, for this message. */
const runFor = (words: Message, log: readonly NewEvent[]) => {
  const events: readonly Event[] = log.map((event, index) => ({ seq: index + 1, at: '', event }));
  const asked: string[] = [];
  const store = {
    read: async (_scope: unknown, _id: string, after: number, limit: number) => events.slice(after, after + limit),
    find: async (_scope: unknown, id: string) => {
      asked.push(id);
      return id === 'gone'
        ? undefined
        : ({ id, artifacts: '[]', history: '[]', metadata: '{}', statusMessage: null } as StoredTask);
    },
  } as Pick<TaskStore, 'find' | 'read'>;
  const token = { taskId: 'task', task: 1, lane: 1, epoch: 1 };
  const run = { token, owner: 'o', tenant: '', contextId: 'c', message: words, seq: events.length } as Run;
  return { past: pastOf(store, run, new RunLoss()), asked };
};

describe('what a turn looks back at', () => {
  const first: NewEvent = { kind: 'task-admitted', state: 'submitted', message: message('1', 'one') };

  it('ends before its own message, which is another than one of the same id and other words', async () => {
    const own = message('same', 'mine');
    const log = [first, received(message('same', 'not mine')), received(own), received(message('4', 'later'))];
    const { past } = runFor(own, log);
    expect((await past.before())?.history.map(({ parts }) => parts[0]?.text)).toEqual(['one', 'not mine']);
  });

  it('is nothing in the first turn of a task', async () => {
    const { past } = runFor(message('1', 'one'), [first]);
    expect(await past.before()).toBe(undefined);
  });

  it('has each task that the message refers to once, and none that is gone', async () => {
    const { past, asked } = runFor(message('1', 'one', { referenceTaskIds: ['a', 'gone', 'a', 'b'] }), [first]);
    expect((await past.references()).map(({ id }) => id)).toEqual(['a', 'b']);
    expect(asked).toEqual(['a', 'gone', 'b']);
  });
});
