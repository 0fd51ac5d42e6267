import { startField, type Bench } from './bench.ts';
import { complaintsOf, runLoad, type LoadResult, type Workload } from './load.ts';
import { usageOf } from './process-usage.ts';
import { createRequestTemplate, numberText, rpcRequest, userMessage } from './requests.ts';
import { show, type Goal, type Section } from './section.ts';
import { median } from './statistics.ts';
import type { System, SystemName } from './systems.ts';

const SYSTEMS: readonly SystemName[] = ['sealane', 'sdk-memory', 'sdk-sqlite', 'bare'];
const FILLER = 'The quick brown fox jumps over the lazy dog, and the task is stored before anybody hears of it. ';
const MB = 2 ** 20;

/** About 200 bytes, different in every request. */
export const textOf = (number: string): string => `${FILLER}${number} ${FILLER}`;

/** One answer in this many is parsed and compared; of all others only the state is looked for. */
const SAMPLE = 32;

interface SendResult {
  readonly task?: {
    readonly status: { readonly state: string };
    readonly artifacts?: readonly { readonly parts: readonly { readonly text?: string }[] }[];
  };
}

/** Tells a right answer from a wrong one; `resultOf` finds the result in the parsed body. */
export const faultOf =
  (resultOf: (body: unknown) => unknown): Workload['fault'] =>
  (n, body) => {
    if (!body.includes('TASK_STATE_COMPLETED', 0, 'latin1')) return `not completed: ${body.toString()}`;
    if (n % SAMPLE !== 0) return undefined;
    const { task } = resultOf(JSON.parse(body.toString())) as SendResult;
    const isRight =
      task?.status.state === 'TASK_STATE_COMPLETED' && task.artifacts?.[0]?.parts[0]?.text === textOf(numberText(n));
    return isRight ? undefined : `not the echo of what was sent: ${body.toString()}`;
  };

/** Blocking sends, each a task of its own in a context of its own. */
export const sendWorkload: Workload = {
  request: createRequestTemplate((number) =>
    rpcRequest('SendMessage', { message: userMessage(`bench-${number}`, textOf(number)) }),
  ),
  fault: faultOf((body) => (body as { readonly result?: unknown }).result),
};

/** One system in one round. */
interface Sample extends LoadResult {
  readonly serverCpuUs: number | undefined;
  readonly clientCpuUs: number;
  readonly rssMb: number | undefined;
}

const measure = async (bench: Bench, { pid, port }: System, durationMs: number): Promise<Sample> => {
  const before = usageOf(pid);
  const clientBefore = process.cpuUsage();
  const { connections, signal } = bench;
  const load = await runLoad(sendWorkload, { port, connections, durationMs, signal });
  const client = process.cpuUsage(clientBefore);
  const after = usageOf(pid);
  return {
    ...load,
    serverCpuUs: before && after && ((after.cpuMs - before.cpuMs) * 1000) / load.requests,
    clientCpuUs: (client.user + client.system) / load.requests,
    rssMb: after && after.rssBytes / MB,
  };
};

/** Throughput of blocking sends, system by system in turns. */
export const measureSend = async (bench: Bench): Promise<Section> => {
  await using field = await startField(bench, SYSTEMS);
  const samples = new Map<SystemName, Sample[]>(SYSTEMS.map((name) => [name, []]));
  const errors = field.absent.map(({ name, why }) => `${name}: ${why}`);
  for (const system of field.systems) {
    bench.progress(`send: warm-up, ${system.name}`);
    errors.push(...complaintsOf(system.name, await measure(bench, system, bench.effort.warmUpMs)));
  }
  for (let round = 1; round <= bench.effort.rounds; round++) {
    for (const system of field.systems) {
      const sample = await measure(bench, system, bench.effort.loadMs);
      samples.get(system.name)?.push(sample);
      errors.push(...complaintsOf(system.name, sample));
      bench.progress(`send: round ${round} of ${bench.effort.rounds}, ${system.name}: ${show(sample.perSecond)} req/s`);
    }
  }
  return sectionOf(bench, samples, errors);
};

const sectionOf = (
  bench: Bench,
  samples: ReadonlyMap<SystemName, readonly Sample[]>,
  errors: readonly string[],
): Section => {
  const of = (name: SystemName, pick: (sample: Sample) => number | undefined): number =>
    median((samples.get(name) ?? []).map((sample) => pick(sample) ?? Number.NaN));
  const rows = SYSTEMS.map((name) => [
    name,
    show(of(name, (sample) => sample.perSecond)),
    show(of(name, (sample) => sample.p50Ms)),
    show(of(name, (sample) => sample.p99Ms)),
    show(of(name, (sample) => sample.serverCpuUs)),
    show(of(name, (sample) => sample.clientCpuUs)),
    show(of(name, (sample) => sample.rssMb)),
  ]);
  const goal = (other: SystemName, atLeast: number): Goal => ({
    what: `sends per second, Sealane to ${other}`,
    value: ratio(samples, other),
    unit: '×',
    bound: { atLeast },
  });
  return {
    name: 'send',
    title: `Blocking SendMessage, ${textOf(numberText(0)).length} bytes, ${bench.connections} connections`,
    columns: ['system', 'req/s', 'p50 ms', 'p99 ms', 'server CPU µs/req', 'client CPU µs/req', 'RSS MB'],
    rows,
    goals: [goal('sdk-memory', 1.3), goal('sdk-sqlite', 10), goal('bare', 0.15)],
    notes: [],
    data: Object.fromEntries(samples),
    errors,
  };
};

/** The median of the rounds' own ratios: what disturbs a round disturbs both sides of it. */
const ratio = (samples: ReadonlyMap<SystemName, readonly Sample[]>, other: SystemName): number => {
  const others = samples.get(other) ?? [];
  return median(
    (samples.get('sealane') ?? []).map(({ perSecond }, round) => perSecond / (others[round]?.perSecond ?? Number.NaN)),
  );
};
