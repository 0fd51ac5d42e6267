import { setTimeout as sleep } from 'node:timers/promises';

import { startField, type Bench } from './bench.ts';
import { usageOf } from './process-usage.ts';
import { show, type Section } from './section.ts';
import type { SystemName } from './systems.ts';

const SYSTEMS: readonly SystemName[] = ['sealane', 'sdk-memory', 'sdk-sqlite', 'bare'];
const SETTLE_MS = 5000;
const MB = 2 ** 20;

/** What a fresh server needs before anybody calls. */
export const measureIdle = async (bench: Bench): Promise<Section> => {
  await using field = await startField(bench, SYSTEMS);
  bench.progress(`idle: waiting ${SETTLE_MS / 1000} s`);
  await sleep(SETTLE_MS, undefined, { signal: bench.signal });
  const found = field.systems.map(({ name, pid }) => ({ name, rssMb: rssMb(pid) }));
  return {
    name: 'idle',
    title: `Memory ${SETTLE_MS / 1000} s after the start`,
    columns: ['system', 'RSS MB'],
    rows: found.map(({ name, rssMb }) => [name, show(rssMb)]),
    goals: [
      {
        what: 'memory of an idle Sealane',
        value: found.find(({ name }) => name === 'sealane')?.rssMb,
        unit: 'MB',
        bound: { atMost: 110 },
      },
    ],
    notes: [],
    data: found,
    errors: field.absent.map(({ name, why }) => `${name}: ${why}`),
  };
};

const rssMb = (pid: number): number | undefined => {
  const usage = usageOf(pid);
  return usage && usage.rssBytes / MB;
};
