import type { Bench } from './bench.ts';
import { complaintsOf, runLoad, type LoadResult, type Workload } from './load.ts';
import { rpcRequest } from './requests.ts';
import { BIG_CONTEXT, contextCount, contextName, middleOf } from './seed.ts';
import { call, startSeeded, type SeededSystem } from './seeded-system.ts';
import { show, type Section } from './section.ts';
import { median } from './statistics.ts';

const FEW_TASKS = 1000;
const PAGE = 50;
/** Of the rarer states even the small store must fill a page: pages of different lengths cannot be compared. */
const SHORT_PAGE = 10;
/** One answer in this many is parsed. */
const SAMPLE = 16;

/** Makes a lookup's requests for a store. */
export type Lookup = (store: SeededSystem, signal: AbortSignal) => Workload | Promise<Workload>;

export const getTask: Lookup = ({ ids }) => {
  const idOf = (n: number): string => ids[scatter(n) % ids.length] as string;
  const requests = new Map(ids.map((id) => [id, rpcRequest('GetTask', { id })]));
  return {
    request: (n) => requests.get(idOf(n)) as string,
    fault: (n, body) => (body.includes(`"id":"${idOf(n)}"`) ? undefined : `not the task asked for: ${body.toString()}`),
  };
};

/** A list with the same filter each time, or one of many. */
const listTasks = (filters: readonly object[], pageSize: number): Workload => {
  const requests = filters.map((filter) => rpcRequest('ListTasks', { pageSize, ...filter }));
  return {
    request: (n) => requests[scatter(n) % requests.length] as string,
    fault: (n, body) => {
      if (n % SAMPLE !== 0 && body.includes('"tasks":[{')) return undefined;
      const { result } = JSON.parse(body.toString()) as { readonly result?: { readonly tasks?: readonly unknown[] } };
      const found = result?.tasks?.length;
      return found === pageSize ? undefined : `${found} tasks instead of ${pageSize}: ${body.toString().slice(0, 300)}`;
    },
  };
};

/** Neighbours in time are neighbours on disk: spreads the numbers so that lookups are not. */
const scatter = (n: number): number => (Math.imul(n, 2_654_435_761) >>> 0) % 1_000_003;

const status = (state: string): { readonly status: string } => ({ status: `TASK_STATE_${state}` });
const after = ({ seed }: SeededSystem): object => ({ statusTimestampAfter: middleOf(seed).toISOString() });

export const LOOKUPS: Readonly<Record<string, Lookup>> = {
  GetTask: getTask,
  ListTasks: () => listTasks([{}], PAGE),
  'ListTasks, second page': async ({ system }, signal) => {
    const first = await call(system.port, 'ListTasks', { pageSize: PAGE }, signal);
    return listTasks([{ pageToken: (first as { readonly nextPageToken: string }).nextPageToken }], PAGE);
  },
  'ListTasks, includeArtifacts': () => listTasks([{ includeArtifacts: true }], PAGE),
  'ListTasks, contextId of 500': ({ seed }) =>
    listTasks(
      Array.from({ length: contextCount(seed.tasks) }, (_, n) => ({ contextId: contextName(n) })),
      PAGE,
    ),
  'ListTasks, contextId of half': () => listTasks([{ contextId: BIG_CONTEXT }], PAGE),
  'ListTasks, status completed': () => listTasks([status('COMPLETED')], PAGE),
  'ListTasks, status input-required': () => listTasks([status('INPUT_REQUIRED')], SHORT_PAGE),
  'ListTasks, contextId of half + completed': () =>
    listTasks([{ contextId: BIG_CONTEXT, ...status('COMPLETED') }], PAGE),
  'ListTasks, contextId of half + failed': () =>
    listTasks([{ contextId: BIG_CONTEXT, ...status('FAILED') }], SHORT_PAGE),
  'ListTasks, statusTimestampAfter': (store) => listTasks([after(store)], PAGE),
  'ListTasks, status failed + after': (store) => listTasks([{ ...status('FAILED'), ...after(store) }], SHORT_PAGE),
};

interface Comparison {
  readonly lookup: string;
  readonly few: LoadResult[];
  readonly many: LoadResult[];
}

/** Whether a lookup takes longer when its owner has a thousand times as many tasks. One request at a time. */
export const measureLookups = async (bench: Bench): Promise<Section> => {
  const { rounds, lookupMs, manyTasks } = bench.effort;
  bench.progress(`lookups: storing ${show(manyTasks)} tasks`);
  await using few = await startSeeded(bench, FEW_TASKS);
  await using many = await startSeeded(bench, manyTasks);
  const comparisons: Comparison[] = [];
  const errors: string[] = [];
  for (const [lookup, make] of Object.entries(LOOKUPS)) {
    const comparison: Comparison = { lookup, few: [], many: [] };
    comparisons.push(comparison);
    const sides = [
      { port: few.system.port, workload: await make(few, bench.signal), results: comparison.few },
      { port: many.system.port, workload: await make(many, bench.signal), results: comparison.many },
    ];
    const run = async (workload: Workload, port: number): Promise<LoadResult> => {
      const result = await runLoad(workload, { port, connections: 1, durationMs: lookupMs, signal: bench.signal });
      errors.push(...complaintsOf(lookup, result));
      return result;
    };
    for (const { workload, port } of sides) await run(workload, port);
    for (let round = 1; round <= rounds; round++) {
      for (const { workload, port, results } of sides) results.push(await run(workload, port));
    }
    bench.progress(`lookups: ${lookup}: p99 ${show(p99(comparison.few))} ms, then ${show(p99(comparison.many))} ms`);
  }
  return sectionOf(manyTasks, comparisons, errors);
};

const p99 = (results: readonly LoadResult[]): number => median(results.map((result) => result.p99Ms));
const p50 = (results: readonly LoadResult[]): number => median(results.map((result) => result.p50Ms));

const sectionOf = (manyTasks: number, comparisons: readonly Comparison[], errors: readonly string[]): Section => {
  const ratioOf = ({ few, many }: Comparison): number =>
    median(many.map((result, round) => result.p99Ms / (few[round]?.p99Ms ?? Number.NaN)));
  return {
    name: 'lookups',
    title: `Lookups of one owner with ${show(FEW_TASKS)} and with ${show(manyTasks)} stored tasks, one at a time`,
    columns: ['lookup', 'p50 ms, few', 'p50 ms, many', 'p99 ms, few', 'p99 ms, many', 'p99 ratio'],
    rows: comparisons.map((comparison) => [
      comparison.lookup,
      show(p50(comparison.few)),
      show(p50(comparison.many)),
      show(p99(comparison.few)),
      show(p99(comparison.many)),
      show(ratioOf(comparison)),
    ]),
    goals: comparisons.map((comparison) => ({
      what: `p99 of ${comparison.lookup}, ${show(manyTasks)} tasks to ${show(FEW_TASKS)}`,
      value: ratioOf(comparison),
      unit: '×',
      bound: { atMost: 3 },
    })),
    notes: [],
    data: comparisons,
    errors,
  };
};
