import { startField, type Bench } from './bench.ts';
import { complaintsOf, runLoad } from './load.ts';
import { show, type Section } from './section.ts';
import { sendWorkload } from './send.ts';
import { median } from './statistics.ts';
import type { SystemName } from './systems.ts';

const SYSTEMS: readonly SystemName[] = ['sealane', 'sdk-memory', 'sdk-sqlite'];
const CROWDS = [8, 16, 64, 128, 256] as const;

/** How the send rate changes with the number of callers: group commits pay off where many wait at the same time. */
export const measureCrowd = async (bench: Bench): Promise<Section> => {
  await using field = await startField(bench, SYSTEMS);
  const rates = new Map<string, number[]>();
  const errors = field.absent.map(({ name, why }) => `${name}: ${why}`);
  const { effort, signal } = bench;
  const run = async (name: SystemName, port: number, connections: number, durationMs: number): Promise<number> => {
    const load = await runLoad(sendWorkload, { port, connections, durationMs, signal });
    errors.push(...complaintsOf(`${name}, ${connections} connections`, load));
    return load.perSecond;
  };
  for (const { name, port } of field.systems) await run(name, port, 32, effort.warmUpMs);
  for (let round = 1; round <= Math.min(3, effort.rounds); round++) {
    for (const connections of CROWDS) {
      for (const { name, port } of field.systems) {
        const key = `${name} ${connections}`;
        const rate = await run(name, port, connections, effort.loadMs);
        rates.set(key, [...(rates.get(key) ?? []), rate]);
        bench.progress(`crowd: round ${round}, ${name}, ${connections} connections: ${show(rate)} req/s`);
      }
    }
  }
  const of = (name: SystemName, connections: number): readonly number[] => rates.get(`${name} ${connections}`) ?? [];
  const ratio = (other: SystemName, connections: number): string =>
    `${show(median(of('sealane', connections).map((rate, round) => rate / (of(other, connections)[round] ?? Number.NaN))))} ×`;
  return {
    name: 'crowd',
    title: 'Blocking SendMessage by number of connections, requests per second',
    columns: ['connections', ...SYSTEMS, 'to sdk-memory', 'to sdk-sqlite'],
    rows: CROWDS.map((connections) => [
      String(connections),
      ...SYSTEMS.map((name) => show(median(of(name, connections)))),
      ratio('sdk-memory', connections),
      ratio('sdk-sqlite', connections),
    ]),
    goals: [],
    notes: [],
    data: Object.fromEntries(rates),
    errors,
  };
};
