import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openPostgres } from '#store/postgres/index';

import { eventually } from '../support/eventually.ts';
import { freshSchema } from '../support/fresh-schema.ts';
import { type FuzzReport, runFuzz } from './fuzz-run.ts';
import { type FuzzWorld, openFuzzWorld } from './fuzz-world.ts';
import { LABELS } from './requests.ts';
import { fuzzOnly, fuzzRuns, fuzzSeed } from './seeds.ts';

/** With fewer requests, that a kind was never answered well is chance. */
const ENOUGH_RUNS = 15_000;
/** Numbers of requests that no part of a run uses. */
const FURTHER_ON = 1_000_000_000;
const TIME_LIMIT_MS = 60_000 + fuzzRuns * 30;
const MAX_GROWTH_BYTES = 64 * 1024 * 1024;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** What is still in use, after everything else has been let go. */
const usedBytes = (): number => {
  // What the first one has found is given back beside it, and done when the second begins.
  collectGarbage();
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

/** Most of the requests go to the store that most people have; the other must not be the one that breaks. */
describe.each([
  { store: 'SQLite', from: 0, to: 0.85, open: () => openFuzzWorld() },
  { store: 'PostgreSQL', from: 0.85, to: 1, open: async () => openFuzzWorld(await openPostgres(freshSchema())) },
])(`whatever is sent (SEALANE_FUZZ_SEED=${fuzzSeed}) on $store`, ({ from, to, open }) => {
  let world: FuzzWorld;
  let before: string;
  beforeAll(async () => {
    world = await open();
    before = await world.other.snapshot();
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  it(
    'every answer is a proper one, and tells nothing that belongs to somebody else',
    { timeout: TIME_LIMIT_MS },
    async () => {
      const run = (first: number, count: number): Promise<FuzzReport> =>
        runFuzz(world, { seed: fuzzSeed, first, count });
      if (fuzzOnly !== undefined) {
        expect((await run(fuzzOnly, 1)).failures.join('\n\n')).toBe('');
        return;
      }
      const start = Math.ceil(fuzzRuns * from);
      const runs = Math.ceil(fuzzRuns * to) - start;
      // The first part fills caches and pools; what grows after it has no such excuse.
      const warmUp = Math.ceil(runs / 4);
      const first = await run(start, warmUp);
      expect(first.failures.join('\n\n')).toBe('');
      const early = usedBytes();
      const rest = await run(start + warmUp, runs - warmUp);
      const growth = usedBytes() - early;
      let words = sum([first.words, rest.words]);

      show(words, first.answered + rest.answered, growth, world.webhookCalls());
      expect(rest.failures.join('\n\n')).toBe('');
      expect(growth).toBeLessThan(MAX_GROWTH_BYTES);
      if (runs < ENOUGH_RUNS) return;
      const lacking = (): string[] => LABELS.filter((label) => !isBoth(words.get(label)));
      // Of some kinds few get through, and by chance none: a few more of those kinds alone.
      if (lacking().length > 0) {
        const labels = new Set(lacking());
        const more = await runFuzz(world, { seed: fuzzSeed, first: FURTHER_ON, count: fuzzRuns, labels });
        expect(more.failures.join('\n\n')).toBe('');
        words = sum([words, more.words]);
      }
      expect(lacking()).toEqual([]);
    },
  );

  it('the service works on as before', async () => {
    const sent = await world.service.client.send('still there?');
    expect(sent.status.state).toBe('TASK_STATE_COMPLETED');
  });

  it('nothing of another owner has changed', async () => {
    expect(await world.other.snapshot()).toBe(before);
  });

  it('no stream is left open', async () => {
    await eventually(async () => expect(await world.openStreams()).toBe(0));
  });

  it('nothing went wrong behind the answers', () => {
    expect(world.problems.slice(0, 10)).toEqual([]);
    if (fuzzOnly === undefined) expect(world.webhookCalls()).toBeGreaterThan(0);
  });
});

type Words = FuzzReport['words'];

const sum = (all: readonly Words[]): Words => {
  const total = new Map<string, Map<string, number>>();
  for (const [label, counts] of all.flatMap((words) => [...words])) {
    const of = total.get(label) ?? new Map<string, number>();
    for (const [word, count] of counts) of.set(word, (of.get(word) ?? 0) + count);
    total.set(label, of);
  }
  return total;
};

/** Some of a kind must get through, or only the first check of all is ever tried; and some must be refused. */
const isBoth = (counts: ReadonlyMap<string, number> = new Map()): boolean => counts.has('ok') && counts.size > 1;

/** How often what was answered how, for whoever wants to know what the requests reach. */
const show = (words: Words, answered: number, growth: number, webhookCalls: number): void => {
  if (process.env['SEALANE_FUZZ_SHOW'] === undefined) return;
  for (const [label, counts] of [...words].sort(([one], [other]) => one.localeCompare(other))) {
    const sorted = [...counts].sort((one, other) => other[1] - one[1]);
    console.log(label, sorted.map(([word, count]) => `${word}:${count}`).join(' '));
  }
  console.log(`${answered} answers, ${webhookCalls} webhook calls, ${Math.round(growth / 1024)} KiB more in use`);
};
