import { expect, it } from 'vitest';

import { answerOf, type WireTask } from './support/a2a-client.ts';
import { type StreamEvent, stateOf } from './support/event-stream.ts';
import { eventually } from './support/eventually.ts';
import { freshFolder, serve } from './support/served-process.ts';

const RETRYING = 'agents: { echo: { connector: echo, default: true, recovery: retry } }\n';

const readUpTo = async (stream: AsyncIterable<StreamEvent>, last: number): Promise<StreamEvent[]> => {
  const seen: StreamEvent[] = [];
  for await (const event of stream) {
    seen.push(event);
    if (event.id === last) return seen;
  }
  throw new Error(`The stream ended before event ${last}.`);
};

const upTo = (last: number, from = 1): readonly number[] =>
  Array.from({ length: last - from + 1 }, (_, index) => from + index);
const numbersOf = (events: readonly StreamEvent[]): readonly (number | undefined)[] => events.map(({ id }) => id);

it('a stream that was cut by a restart goes on with Last-Event-ID: no event is missing, none comes twice', async () => {
  using folder = freshFolder();
  let task: WireTask;
  let seen: StreamEvent[];
  {
    await using first = await serve(folder.path, { config: RETRYING });
    const stream = await first.client.stream('@stream 150 10');
    seen = await readUpTo(stream, 60);
    task = seen[0]!.task!;
    await first.kill();
  }
  await using second = await serve(folder.path);
  const missed = await (await second.client.subscribe(task.id, 60)).rest();

  // The first number is the snapshot's, which stands for the events up to it.
  expect(numbersOf([...seen, ...missed])).toEqual(upTo(missed.at(-1)!.id!, seen[0]!.id));
  expect(stateOf(missed.at(-1)!)).toBe('TASK_STATE_COMPLETED');
  const attempts = missed.flatMap(({ statusUpdate }) =>
    statusUpdate?.metadata?.['attempt'] === undefined ? [] : [statusUpdate.metadata],
  );
  expect(attempts).toEqual([{ attempt: 1, retry: true }, { attempt: 2 }]);
  const { events } = await second.admin.get<{ events: { seq: number }[] }>(`/tasks/${task.id}/events?limit=1000`);
  expect(events.map(({ seq }) => seq)).toEqual(upTo(missed.at(-1)!.id!));
  // What the lost attempt left unfinished is replaced, not prolonged.
  expect(answerOf(await second.client.get(task.id)).match(/chunk/g)).toHaveLength(150);
});

it('a stream that was cut goes on with Last-Event-ID also when the task ended before the restart', async () => {
  using folder = freshFolder();
  let id: string;
  let whole: readonly StreamEvent[];
  {
    await using first = await serve(folder.path);
    const stream = await first.client.stream('@stream 80 2');
    id = (await readUpTo(stream, 20))[0]!.task!.id;
    await eventually(async () => expect((await first.client.get(id)).status.state).toBe('TASK_STATE_COMPLETED'));
    whole = await (await first.client.subscribe(id, 0)).rest();
    expect(await first.stop()).toBe(0);
  }
  await using second = await serve(folder.path);
  const missed = await (await second.client.subscribe(id, 20)).rest();
  expect(missed.map(({ text }) => text)).toEqual(whole.slice(20).map(({ text }) => text));
  expect(numbersOf(missed)).toEqual(upTo(whole.length, 21));
});

it('what waited when the service was killed runs after the restart, in order; what ran has failed and says why', async () => {
  using folder = freshFolder();
  const contextId = 'line';
  let waiting: readonly WireTask[];
  {
    await using first = await serve(folder.path);
    await first.client.submit('@sleep 600000', { contextId });
    waiting = [await first.client.submit('second', { contextId }), await first.client.submit('third', { contextId })];
    await first.kill();
  }
  await using second = await serve(folder.path);
  const [b, c] = await eventually(async () => {
    const found = await Promise.all(waiting.map(({ id }) => second.client.get(id)));
    for (const task of found) expect(task.status.state).toBe('TASK_STATE_COMPLETED');
    return found;
  });
  expect([b!, c!].map(answerOf)).toEqual(['second', 'third']);
  expect(b!.status.timestamp <= c!.status.timestamp).toBe(true);
  const failed = await second.client.list({ contextId, status: 'TASK_STATE_FAILED' });
  expect(failed.tasks.map(({ metadata }) => metadata?.['reason'])).toEqual(['interrupted']);
});

it('a service that is told to stop lets its readers go; what waited, and what was paused, is so after the restart', async () => {
  using folder = freshFolder();
  await using first = await serve(folder.path);
  await first.admin.post('/lanes/pause', { agent: 'echo' });
  const task = await first.client.submit('patience');
  const watching = await first.client.subscribe(task.id);
  const snapshot = await watching.next();
  const stopping = first.stop();
  expect(await watching.rest()).toEqual([]);
  expect(watching.comments.at(-1)).toContain('Last-Event-ID');
  expect(await stopping).toBe(0);

  await using second = await serve(folder.path);
  const going = await second.client.subscribe(task.id, snapshot!.id);
  expect((await second.client.get(task.id)).status.state).toBe('TASK_STATE_SUBMITTED');
  await second.admin.post('/lanes/resume', { agent: 'echo' });
  expect((await going.rest()).map(({ id }) => id)).toEqual([2, 3, 4]);
});
