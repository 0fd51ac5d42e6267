import { expect, it } from 'vitest';

import type { Event } from '#domain';
import type { TaskStore } from '#store';

import { createFeed } from './feed.ts';

const event: Event = {
  seq: 1,
  at: new Date(0).toISOString(),
  event: { kind: 'run-started', state: 'working', attempt: 1 },
};

/** A store that answers when the test lets it. */
const slowStore = () => {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<readonly Event[]>();
  const read: TaskStore['read'] = () => {
    asked.resolve();
    return answer.promise;
  };
  return { store: { read } as TaskStore, asked: asked.promise, answer: answer.resolve };
};

it('an event that comes while the store is asked is told at once, and not with the next', async () => {
  const { store, asked, answer } = slowStore();
  const feed = createFeed(store, 60_000);
  using reader = feed.attach('all', 'task');
  const told = reader.events(0, AbortSignal.timeout(20_000), false).next();
  await asked;
  feed.publish('task', [event]);
  answer([]);
  expect((await told).value?.event).toEqual(event);
});

it('a reader that leaves while the store is asked is gone when it has answered', async () => {
  const { store, asked, answer } = slowStore();
  const feed = createFeed(store, 600_000);
  using reader = feed.attach('all', 'task');
  const leaving = new AbortController();
  const told = reader.events(0, leaving.signal, false).next();
  await asked;
  leaving.abort();
  answer([]);
  expect(await told).toEqual({ done: true, value: undefined });
});
