import type { Bench } from './bench.ts';
import { readStream } from './event-stream.ts';
import { complaintsOf, runLoad, type LoadResult, type Workload } from './load.ts';
import { LOOKUPS } from './lookups.ts';
import { answerQuestions, cancelQuestions, cancelQueued, type Target } from './open-tasks.ts';
import { createRequestTemplate, rpcRequest, userMessage } from './requests.ts';
import { call, type SeededSystem } from './seeded-system.ts';
import { show } from './section.ts';
import { sendWorkload } from './send.ts';
import { median } from './statistics.ts';
import type { System } from './systems.ts';

/** What one system did in its part of a round. */
export interface Slice {
  readonly value: number;
  readonly complaints: readonly string[];
}

/** Something that two versions are compared by. Of `req/s` more is better, of all else less. */
export interface Measurement<Subject> {
  readonly what: string;
  readonly unit: 'req/s' | 'µs per chunk' | 'ms';
  /** The goal for the ratio. */
  readonly atLeast?: number;
  /** Prepares a system and returns the function that measures it for one round. */
  readonly prepare: (subject: Subject) => Promise<() => Promise<Slice>>;
}

const STREAMS_AND_LOOKUPS = 0.95;

/** What is measured on an empty store. */
export const liveMeasurements = (bench: Bench): readonly Measurement<System>[] => {
  const many = `${bench.connections} connections`;
  return [
    send(bench, `send to echo, ${many}`, sendWorkload, bench.connections),
    send(bench, 'send to echo, 1 connection', sendWorkload, 1),
    {
      ...send(bench, `send to an agent that answers a moment later, ${many}`, sleepWorkload, bench.connections),
      atLeast: 0.85,
    },
    stream(bench, 2000),
    stream(bench, 100),
    openTasks(bench, `follow-up that answers a question, ${many}`, answerQuestions),
    openTasks(bench, `cancel of a task that waits for an answer, ${many}`, cancelQuestions),
    openTasks(bench, `cancel of a task that waits in its lane, ${many}`, cancelQueued),
  ];
};

/** What is measured on a store with many tasks, one request at a time. */
export const storedMeasurements = (bench: Bench): readonly Measurement<SeededSystem>[] => [
  ...Object.entries(LOOKUPS).map(([name, lookup]) =>
    look(bench, name === 'GetTask' ? 'GetTask, short task' : name, (store) => lookup(store, bench.signal)),
  ),
  // The last one: its task is the newest, and would be on the pages of the lists.
  look(bench, 'GetTask, answer of 1 MiB', (store) => longTaskWorkload(store, bench.signal)),
];

const sliceOf = (what: string, load: LoadResult, value: number): Slice => ({
  value,
  complaints: complaintsOf(what, load),
});

const send = (bench: Bench, what: string, workload: Workload, connections: number): Measurement<System> => ({
  what,
  unit: 'req/s',
  prepare:
    async ({ port }) =>
    async () => {
      const { effort, signal } = bench;
      const load = await runLoad(workload, { port, connections, durationMs: effort.loadMs, signal });
      return sliceOf(what, load, load.perSecond);
    },
});

/**
 * `@sleep 0` waits for a timer of one millisecond. So the agent answers in a later turn of the event loop, as every agent
 * does that works for a while.
 */
const sleepWorkload: Workload = {
  request: createRequestTemplate((number) =>
    rpcRequest('SendMessage', { message: userMessage(`sleep-${number}`, '@sleep 0') }),
  ),
  fault: (_n, body) =>
    body.includes('TASK_STATE_COMPLETED', 0, 'latin1') && body.includes('"slept 0 ms"', 0, 'latin1')
      ? undefined
      : `not completed: ${body.toString()}`,
};

/** Whole streams, one after the other: a short one alone takes only a few milliseconds. */
const stream = (bench: Bench, chunks: number): Measurement<System> => ({
  what: `stream of ${show(chunks)} chunks`,
  unit: 'µs per chunk',
  atLeast: STREAMS_AND_LOOKUPS,
  prepare:
    async ({ port }) =>
    async () => {
      const complaints: string[] = [];
      const times: number[] = [];
      const deadline = performance.now() + bench.effort.loadMs;
      do {
        const { wallMs, fault } = await readStream(port, chunks, bench.signal);
        times.push((wallMs / chunks) * 1000);
        if (fault !== undefined) complaints.push(`stream of ${chunks} chunks: ${fault}`);
      } while (performance.now() < deadline);
      return { value: median(times), complaints };
    },
});

const openTasks = (
  bench: Bench,
  what: string,
  run: (target: Target, count: number) => Promise<LoadResult>,
): Measurement<System> => ({
  what,
  unit: 'req/s',
  prepare:
    async ({ port }) =>
    async () => {
      const load = await run({ port, connections: bench.connections, signal: bench.signal }, bench.effort.openTasks);
      return sliceOf(what, load, load.perSecond);
    },
});

const look = (
  bench: Bench,
  what: string,
  workloadOf: (store: SeededSystem) => Workload | Promise<Workload>,
): Measurement<SeededSystem> => ({
  what,
  unit: 'ms',
  atLeast: STREAMS_AND_LOOKUPS,
  prepare: async (store) => {
    const workload = await workloadOf(store);
    return async () => {
      const { effort, signal } = bench;
      const options = { port: store.system.port, connections: 1, durationMs: effort.lookupMs, signal };
      const load = await runLoad(workload, options);
      return sliceOf(what, load, load.p50Ms);
    };
  },
});

/** One event may have 1 MiB; what is around the text needs some of it. */
const LONG_BYTES = 2 ** 20 - 1024;

const longTaskWorkload = async ({ system }: SeededSystem, signal: AbortSignal): Promise<Workload> => {
  const message = userMessage('long-answer', `@big ${LONG_BYTES}`);
  const { task } = (await call(system.port, 'SendMessage', { message }, signal)) as { readonly task: { id: string } };
  const request = rpcRequest('GetTask', { id: task.id });
  return {
    request: () => request,
    fault: (_n, body) =>
      body.length > LONG_BYTES && body.includes(`"id":"${task.id}"`)
        ? undefined
        : `not the task with the long answer: ${body.toString('utf8', 0, 300)}`,
  };
};
