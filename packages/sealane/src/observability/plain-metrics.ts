import type { Metric, Registry } from 'prom-client';

/**
 * Metrics that every request touches several times. They are plain numbers, and are put into the library's words only
 * when somebody asks; its own counters and histograms check and hash their labels at each call, a twentieth of a send.
 */
interface Facts {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
}

interface Value {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  readonly metricName?: string;
}

type Labels = Readonly<Record<string, string>>;

/** The child for some labels: found by one short key. */
const createFamily = <T>(
  registry: Registry,
  type: 'counter' | 'histogram',
  { name, help, labelNames = [] }: Facts,
  make: () => T,
  valuesOf: (child: T, labels: Labels) => readonly Value[],
): ((...labels: readonly string[]) => T) => {
  const children = new Map<string, { readonly labels: Labels; readonly child: T }>();
  const of = (...labels: readonly string[]): T => {
    const key = labels.length === 1 ? (labels[0] ?? '') : labels.join('\u0000');
    let known = children.get(key);
    if (!known) {
      const named = Object.fromEntries(labelNames.map((label, index) => [label, labels[index] ?? '']));
      children.set(key, (known = { labels: named, child: make() }));
    }
    return known.child;
  };
  // Without labels there is one from the beginning, at zero.
  if (labelNames.length === 0) of();
  const get = async () => ({
    name,
    help,
    type,
    aggregator: 'sum',
    values: [...children.values()].flatMap(({ labels, child }) => valuesOf(child, labels)),
  });
  registry.registerMetric({ name, get } as unknown as Metric);
  return of;
};

export class Count {
  value = 0;
  add(n = 1): void {
    this.value += n;
  }
}

export const createCounts = (registry: Registry, facts: Facts): ((...labels: readonly string[]) => Count) =>
  createFamily(
    registry,
    'counter',
    facts,
    () => new Count(),
    ({ value }, labels) => [{ labels, value }],
  );

const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800];

/** How long things took, in seconds: the number of those up to each bound, of those beyond, and their sum. */
export class Times {
  readonly counts = [...BOUNDS, Infinity].map(() => 0);
  sum = 0;
  add(seconds: number): void {
    let index = 0;
    while (seconds > (BOUNDS[index] ?? Infinity)) index += 1;
    this.counts[index] = (this.counts[index] ?? 0) + 1;
    this.sum += seconds;
  }
}

export const createTimes = (registry: Registry, facts: Facts): ((...labels: readonly string[]) => Times) =>
  createFamily(
    registry,
    'histogram',
    facts,
    () => new Times(),
    ({ counts, sum }, labels) => {
      const { name } = facts;
      let soFar = 0;
      const buckets = counts.map((count, index): Value => {
        soFar += count;
        return { labels: { le: BOUNDS[index] ?? '+Inf', ...labels }, value: soFar, metricName: `${name}_bucket` };
      });
      return [
        ...buckets,
        { labels, value: sum, metricName: `${name}_sum` },
        { labels, value: soFar, metricName: `${name}_count` },
      ];
    },
  );
