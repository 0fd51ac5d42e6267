import { startField, type Bench } from './bench.ts';
import { grpcSendWorkload, runGrpcLoad } from './grpc-load.ts';
import { complaintsOf, runLoad, type LoadResult } from './load.ts';
import { usageOf } from './process-usage.ts';
import { createRequestTemplate, restRequest, userMessage } from './requests.ts';
import { show, type Goal, type Section } from './section.ts';
import { faultOf, sendWorkload, textOf } from './send.ts';
import { median } from './statistics.ts';
import type { System, SystemName } from './systems.ts';

const SYSTEMS: readonly SystemName[] = ['sealane', 'sdk-memory'];
const BINDINGS = ['JSON-RPC', 'REST', 'gRPC'] as const;
type Binding = (typeof BINDINGS)[number];

interface Sample extends LoadResult {
  readonly serverCpuUs: number | undefined;
}

const restWorkload = {
  request: createRequestTemplate((number) =>
    restRequest('/message:send', { message: userMessage(`bench-${number}`, textOf(number)) }),
  ),
  fault: faultOf((body) => body),
};

const grpcWorkload = grpcSendWorkload(textOf);

const loadOf = (bench: Bench, system: System, binding: Binding, durationMs: number): Promise<LoadResult> => {
  const { connections, signal } = bench;
  const options = { port: system.port, connections, durationMs, signal };
  if (binding === 'gRPC') return runGrpcLoad(grpcWorkload, { ...options, port: system.grpcPort });
  return runLoad(binding === 'REST' ? restWorkload : sendWorkload, options);
};

const measure = async (bench: Bench, system: System, binding: Binding, durationMs: number): Promise<Sample> => {
  const before = usageOf(system.pid);
  const load = await loadOf(bench, system, binding, durationMs);
  const after = usageOf(system.pid);
  return { ...load, serverCpuUs: before && after && ((after.cpuMs - before.cpuMs) * 1000) / load.requests };
};

/** The same blocking send over the three bindings, each against the SDK's reference server over the same binding. */
export const measureBindings = async (bench: Bench): Promise<Section> => {
  await using field = await startField(bench, SYSTEMS, { grpc: true });
  const samples = new Map<string, Sample[]>();
  const errors = field.absent.map(({ name, why }) => `${name}: ${why}`);
  const pairs = BINDINGS.flatMap((binding) => field.systems.map((system) => ({ binding, system })));
  for (const { binding, system } of pairs) {
    bench.progress(`bindings: warm-up, ${system.name} over ${binding}`);
    errors.push(
      ...complaintsOf(`${system.name} ${binding}`, await measure(bench, system, binding, bench.effort.warmUpMs)),
    );
  }
  for (let round = 1; round <= bench.effort.rounds; round++) {
    for (const { binding, system } of pairs) {
      const key = `${system.name} ${binding}`;
      const sample = await measure(bench, system, binding, bench.effort.loadMs);
      samples.set(key, [...(samples.get(key) ?? []), sample]);
      errors.push(...complaintsOf(key, sample));
      bench.progress(`bindings: round ${round} of ${bench.effort.rounds}, ${key}: ${show(sample.perSecond)} req/s`);
    }
  }
  const of = (key: string, pick: (sample: Sample) => number | undefined): number =>
    median((samples.get(key) ?? []).map((sample) => pick(sample) ?? Number.NaN));
  const ratio = (one: string, other: string): number =>
    median(
      (samples.get(one) ?? []).map(({ perSecond }, round) => perSecond / (samples.get(other)?.[round]?.perSecond ?? 0)),
    );
  const goals: readonly Goal[] = [
    {
      what: 'REST sends per second, to JSON-RPC',
      value: ratio('sealane REST', 'sealane JSON-RPC'),
      unit: '×',
      bound: { atLeast: 0.8 },
    },
  ];
  return {
    name: 'bindings',
    title: `Blocking SendMessage over the three bindings, ${bench.connections} in flight`,
    columns: ['system', 'binding', 'req/s', 'p50 ms', 'p99 ms', 'server CPU µs/req'],
    rows: BINDINGS.flatMap((binding) =>
      SYSTEMS.map((name) => {
        const key = `${name} ${binding}`;
        return [
          name,
          binding,
          show(of(key, ({ perSecond }) => perSecond)),
          show(of(key, ({ p50Ms }) => p50Ms)),
          show(of(key, ({ p99Ms }) => p99Ms)),
          show(of(key, ({ serverCpuUs }) => serverCpuUs)),
        ];
      }),
    ),
    goals,
    notes: [
      'The gRPC client shares the cores with the server and costs several times what the HTTP client does, so its numbers say less about the server. Compare the CPU per request.',
    ],
    data: Object.fromEntries(samples),
    errors,
  };
};
