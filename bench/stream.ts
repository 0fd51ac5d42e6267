import { startField, type Bench } from './bench.ts';
import { CHUNK_BYTES, readStream, type StreamResult } from './event-stream.ts';
import { show, type Section } from './section.ts';
import { median } from './statistics.ts';
import type { System, SystemName } from './systems.ts';

const SYSTEMS: readonly SystemName[] = ['sealane', 'sdk-memory', 'sdk-sqlite'];
/** What all systems stream. */
const COMMON_CHUNKS = 2000;
/** What only Sealane streams: the others take minutes for the longest. */
const SEALANE_CHUNKS = [100, 1000, 5000, 20_000];
/** Enough for the code to be compiled; the SDK's time grows with the square of it. */
const WARM_UP_CHUNKS = 300;

/** Results by what was streamed where, in the order of the table: `sealane 2000`. */
type Samples = Map<string, { readonly name: SystemName; readonly chunks: number; readonly results: StreamResult[] }>;

/** How long one task takes to stream its answer, and whether a long answer costs more per chunk than a short one. */
export const measureStream = async (bench: Bench): Promise<Section> => {
  await using field = await startField(bench, SYSTEMS);
  const samples: Samples = new Map();
  const errors = field.absent.map(({ name, why }) => `${name}: ${why}`);
  const read = async ({ name, port }: System, chunks: number): Promise<StreamResult> => {
    const result = await readStream(port, chunks, bench.signal);
    if (result.fault !== undefined) errors.push(`${name}, ${chunks} chunks: ${result.fault}`);
    return result;
  };
  for (const system of field.systems) {
    bench.progress(`stream: warm-up, ${system.name}`);
    for (let n = 0; n < 3; n++) await read(system, WARM_UP_CHUNKS);
  }
  for (let round = 1; round <= bench.effort.rounds; round++) {
    for (const system of field.systems) {
      const lengths = system.name === 'sealane' ? [...SEALANE_CHUNKS, COMMON_CHUNKS] : [COMMON_CHUNKS];
      for (const chunks of lengths.toSorted((a, b) => a - b)) {
        const result = await read(system, chunks);
        keep(samples, system.name, chunks, result);
        bench.progress(
          `stream: round ${round} of ${bench.effort.rounds}, ${system.name}: ${chunks} chunks in ${show(result.wallMs)} ms`,
        );
      }
    }
  }
  return sectionOf(samples, errors);
};

const keep = (samples: Samples, name: SystemName, chunks: number, result: StreamResult): void => {
  const key = `${name} ${chunks}`;
  const entry = samples.get(key) ?? { name, chunks, results: [] };
  entry.results.push(result);
  samples.set(key, entry);
};

const sectionOf = (samples: Samples, errors: readonly string[]): Section => {
  const wallMs = (name: SystemName, chunks: number): number[] =>
    (samples.get(`${name} ${chunks}`)?.results ?? []).map((result) => result.wallMs);
  /** The median of the rounds' own ratios. */
  const ratio = (above: readonly number[], below: readonly number[]): number =>
    median(below.map((value, round) => (above[round] ?? Number.NaN) / value));
  const perChunk = (chunks: number): number[] => wallMs('sealane', chunks).map((value) => value / chunks);
  return {
    name: 'stream',
    title: `One task that streams chunks of ${CHUNK_BYTES} bytes, from the request to the end of the stream`,
    columns: ['system', 'chunks', 'total ms', 'first event ms', 'µs per chunk'],
    rows: [...samples.values()].map(({ name, chunks, results }) => [
      name,
      show(chunks),
      show(median(results.map((result) => result.wallMs))),
      show(median(results.map((result) => result.firstMs))),
      show(median(results.map((result) => (result.wallMs / chunks) * 1000))),
    ]),
    goals: [
      {
        what: `stream of ${show(COMMON_CHUNKS)} chunks, time of sdk-sqlite to Sealane`,
        value: ratio(wallMs('sdk-sqlite', COMMON_CHUNKS), wallMs('sealane', COMMON_CHUNKS)),
        unit: '×',
        bound: { atLeast: 25 },
      },
      {
        what: 'time per chunk, 20,000 chunks to 1,000',
        value: ratio(perChunk(20_000), perChunk(1000)),
        unit: '×',
        bound: { atMost: 1.3 },
      },
    ],
    notes: [
      'Time per chunk is flat when it does not grow with the length; at 100 chunks the fixed cost of a task shows.',
    ],
    data: [...samples.values()],
    errors,
  };
};
