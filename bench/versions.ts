import { reasonOf, type Bench } from './bench.ts';
import { commitOf, THIS_CHECKOUT } from './checkout.ts';
import { complaintsOf, runLoad, type Workload } from './load.ts';
import { getTask } from './lookups.ts';
import { show, type Section } from './section.ts';
import { startSeeded } from './seeded-system.ts';
import { sendWorkload } from './send.ts';
import { median } from './statistics.ts';
import { startSystem, type System, type SystemName } from './systems.ts';
import { liveMeasurements, type Measurement, type Slice, storedMeasurements } from './version-measurements.ts';

type Version = 'before' | 'sealane';
type Pair<Subject> = Readonly<Record<Version, Subject>>;

/** What a measurement found, round by round. */
interface Comparison extends Pick<Measurement<unknown>, 'what' | 'unit' | 'atLeast'> {
  readonly before: number[];
  readonly sealane: number[];
}

/** Compares this version with an earlier one. Both run side by side; the one that is not measured is idle. */
export const measureVersions = async (bench: Bench): Promise<Section> => {
  const errors: string[] = [];
  const live = await compareLive(bench, errors);
  const stored = await compareStored(bench, errors);
  return sectionOf(bench, [...live, ...stored], errors);
};

const compareLive = async (bench: Bench, errors: string[]): Promise<readonly Comparison[]> => {
  const start = (name: SystemName): Promise<System> =>
    startSystem(name, { dataDir: `${bench.dir}/versions-${name}`, signal: bench.signal, before: bench.before });
  await using before = await start('before');
  await using sealane = await start('sealane');
  for (const { name, port } of [before, sealane]) await warmUp(bench, name, port, sendWorkload, errors);
  return await compareAll(bench, { before, sealane }, liveMeasurements(bench), errors);
};

const compareStored = async (bench: Bench, errors: string[]): Promise<readonly Comparison[]> => {
  bench.progress(`versions: storing ${show(bench.effort.versionTasks)} tasks in each store`);
  await using before = await startSeeded(bench, bench.effort.versionTasks, 'before');
  await using sealane = await startSeeded(bench, bench.effort.versionTasks, 'sealane');
  for (const store of [before, sealane]) {
    const { name, port } = store.system;
    await warmUp(bench, name, port, await getTask(store, bench.signal), errors);
  }
  return await compareAll(bench, { before, sealane }, storedMeasurements(bench), errors);
};

const warmUp = async (
  bench: Bench,
  name: string,
  port: number,
  workload: Workload,
  errors: string[],
): Promise<void> => {
  bench.progress(`versions: warm-up, ${name}`);
  const { connections, effort, signal } = bench;
  const load = await runLoad(workload, { port, connections, durationMs: effort.warmUpMs, signal });
  errors.push(...complaintsOf(`${name}, warm-up`, load));
};

/** A measurement that one version cannot do is an error of its own; the others go on. */
const compareAll = async <Subject>(
  bench: Bench,
  pair: Pair<Subject>,
  measurements: readonly Measurement<Subject>[],
  errors: string[],
): Promise<readonly Comparison[]> => {
  const comparisons: Comparison[] = [];
  for (const measurement of measurements) {
    const comparison: Comparison = { ...measurement, before: [], sealane: [] };
    comparisons.push(comparison);
    try {
      await compare(bench, pair, measurement, comparison, errors);
    } catch (error) {
      if (bench.signal.aborted) throw error;
      errors.push(`${measurement.what}: ${reasonOf(error)}`);
    }
    const { what, before, sealane } = comparison;
    bench.progress(`versions: ${what}: ${show(median(before))}, then ${show(median(sealane))} ${measurement.unit}`);
  }
  return comparisons;
};

const compare = async <Subject>(
  { effort }: Bench,
  pair: Pair<Subject>,
  { prepare }: Measurement<Subject>,
  comparison: Comparison,
  errors: string[],
): Promise<void> => {
  const sides = (['before', 'sealane'] as const).map((version) => ({ version, subject: pair[version] }));
  const runs: { readonly version: Version; readonly run: () => Promise<Slice> }[] = [];
  for (const { version, subject } of sides) runs.push({ version, run: await prepare(subject) });
  // Round 0 is for the compilers, and does not count.
  for (let round = 0; round <= effort.rounds; round++) {
    // The order changes with each round, because being first may make a difference of its own.
    for (const { version, run } of round % 2 === 1 ? runs : runs.toReversed()) {
      const { value, complaints } = await run();
      errors.push(...complaints.map((complaint) => `${version}: ${complaint}`));
      if (round > 0) comparison[version].push(value);
    }
  }
};

/** How much faster this version is: the median of the rounds' own ratios. */
const ratioOf = ({ unit, before, sealane }: Comparison): number =>
  median(
    sealane.map((now, round) => {
      const then = before[round] ?? Number.NaN;
      return unit === 'req/s' ? now / then : then / now;
    }),
  );

const sectionOf = (bench: Bench, comparisons: readonly Comparison[], errors: readonly string[]): Section => {
  const nameOf = (checkout: string | undefined): string => (checkout && commitOf(checkout)) ?? 'no commit';
  return {
    name: 'versions',
    title: `Sealane before (${nameOf(bench.before)}) and now (${nameOf(THIS_CHECKOUT)})`,
    columns: ['measurement', 'before', 'now', 'ratio'],
    rows: comparisons.map((comparison) => [
      `${comparison.what}, ${comparison.unit}`,
      show(median(comparison.before)),
      show(median(comparison.sealane)),
      show(ratioOf(comparison)),
    ]),
    goals: comparisons.flatMap((comparison) =>
      comparison.atLeast === undefined
        ? []
        : {
            what: `${comparison.what}, now to before`,
            value: ratioOf(comparison),
            unit: '×',
            bound: { atLeast: comparison.atLeast },
          },
    ),
    notes: ['A ratio above 1 means that this version is faster, whatever the unit.'],
    data: comparisons,
    errors,
  };
};
