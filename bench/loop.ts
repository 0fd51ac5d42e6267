import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { reasonOf, type Bench } from './bench.ts';
import { complaintsOf, runLoad, type LoadResult } from './load.ts';
import { show, type Goal, type Section } from './section.ts';
import { sendWorkload } from './send.ts';
import { buildSlowDisk, type SlowDisk } from './slow-disk.ts';
import { startSystem, type SystemName } from './systems.ts';

const SLOW_FSYNC_MS = 5;
/** `sdk-sqlite` has its store on the main thread: what that does to the loop, for comparison. */
const SYSTEMS: readonly SystemName[] = ['sealane', 'sdk-sqlite'];

/** What the probe in the server writes. */
interface ProbeReport {
  readonly report: number;
  readonly samples: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
}

type Seen = ProbeReport & Pick<LoadResult, 'perSecond'>;

interface Outcome {
  readonly name: SystemName;
  readonly disk: 'as it is' | 'slow';
  /** Absent when it could not be measured; `unavailable` says why. */
  readonly seen?: Seen;
  readonly unavailable?: string;
  readonly errors: readonly string[];
}

/** How long the event loop of a server is held up under the send load, on this disk and on a slower one. */
export const measureLoop = async (bench: Bench): Promise<Section> => {
  const slow = buildSlowDisk(bench.dir, SLOW_FSYNC_MS);
  const outcomes: Outcome[] = [];
  for (const name of SYSTEMS) {
    outcomes.push(await measure(bench, name, 'as it is', { env: {} }));
    outcomes.push(await measure(bench, name, 'slow', slow));
  }
  return sectionOf(outcomes);
};

const measure = async (bench: Bench, name: SystemName, disk: Outcome['disk'], slow: SlowDisk): Promise<Outcome> => {
  if ('unavailable' in slow) return { name, disk, unavailable: slow.unavailable, errors: [] };
  const dataDir = join(bench.dir, `loop-${name}-${disk === 'slow' ? 'slow' : 'plain'}`);
  const probes = join(dataDir, 'probes');
  mkdirSync(probes, { recursive: true });
  const env = {
    ...slow.env,
    NODE_OPTIONS: `--import=${new URL('loop-probe.mjs', import.meta.url).href}`,
    SEALANE_BENCH_LOOP_DIR: probes,
  };
  try {
    await using system = await startSystem(name, { dataDir, signal: bench.signal, env });
    const load = (durationMs: number): Promise<LoadResult> =>
      runLoad(sendWorkload, { port: system.port, connections: bench.connections, durationMs, signal: bench.signal });
    bench.progress(`loop: ${name}, disk ${disk}`);
    const warmUp = await load(bench.effort.warmUpMs);
    await readProbes(probes, bench.signal);
    // One long look and not several short ones: of a second's samples, the thousandth part is one.
    const result = await load(bench.effort.loopMs);
    const probe = await readProbes(probes, bench.signal);
    bench.progress(`loop: ${name}, disk ${disk}: p99.9 ${show(probe.p999Ms)} ms`);
    const errors = [warmUp, result].flatMap((load) => complaintsOf(name, load));
    return { name, disk, seen: { ...probe, perSecond: result.perSecond }, errors };
  } catch (error) {
    if (bench.signal.aborted) throw error;
    bench.progress(`${name} is left out: ${reasonOf(error)}`);
    return { name, disk, unavailable: reasonOf(error), errors: [`${name}: ${reasonOf(error)}`] };
  }
};

/** Makes every probe report and start anew; answers the worst, should the server consist of several processes. */
const readProbes = async (dir: string, signal: AbortSignal): Promise<ProbeReport> => {
  const reports = readdirSync(dir).flatMap((name) => {
    const pid = /^(\d+)\.json$/.exec(name)?.[1];
    return pid === undefined
      ? []
      : { pid: Number(pid), before: readReport(join(dir, name)).report, file: join(dir, name) };
  });
  for (const { pid } of reports) process.kill(pid, 'SIGUSR2');
  const fresh = await Promise.all(reports.map(({ file, before }) => nextReport(file, before, signal)));
  const [worst] = fresh.toSorted((a, b) => b.p999Ms - a.p999Ms);
  if (!worst) throw new Error('the event loop probe did not start');
  return worst;
};

const PROBE_TIMEOUT_MS = 5000;

const nextReport = async (file: string, before: number, signal: AbortSignal): Promise<ProbeReport> => {
  const deadline = performance.now() + PROBE_TIMEOUT_MS;
  while (performance.now() < deadline) {
    const found = readReport(file);
    if (found.report > before) return found;
    await sleep(5, undefined, { signal });
  }
  throw new Error('the event loop probe does not answer');
};

const readReport = (file: string): ProbeReport => JSON.parse(readFileSync(file, 'utf8')) as ProbeReport;

const sectionOf = (outcomes: readonly Outcome[]): Section => {
  const diskText = (disk: Outcome['disk']): string => (disk === 'slow' ? `${SLOW_FSYNC_MS} ms more per fsync` : disk);
  const goal = ({ disk, seen, unavailable }: Outcome): Goal => ({
    what: `event loop delay p99.9 of Sealane, disk ${diskText(disk)}`,
    value: seen?.p999Ms,
    unit: 'ms',
    bound: { atMost: 20 },
    ...(unavailable !== undefined && { note: unavailable }),
  });
  return {
    name: 'loop',
    title: 'Event loop delay of the server under the send load',
    columns: ['system', 'disk', 'req/s', 'p50 ms', 'p99 ms', 'p99.9 ms', 'worst ms'],
    rows: outcomes.map(({ name, disk, seen }) => [
      name,
      diskText(disk),
      ...(['perSecond', 'p50Ms', 'p99Ms', 'p999Ms', 'maxMs'] as const).map((key) => show(seen?.[key])),
    ]),
    goals: outcomes.filter(({ name }) => name === 'sealane').map(goal),
    notes: ['The probe looks once a millisecond, so an undisturbed loop shows about 1 ms.'],
    data: outcomes,
    errors: outcomes.flatMap(({ errors }) => errors),
  };
};
