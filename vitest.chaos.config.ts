import { randomInt } from 'node:crypto';

import { defineConfig } from 'vitest/config';

import { LONG } from './vitest.long.ts';
import { patient, source } from './vitest.source.ts';

/**
 * The long suite: real processes that are killed, stopped and cut off, and what else takes long. One file at a time, because leases are
 * short and two cores are enough for one storm only. CHAOS_SEED plays a run again, CHAOS_KILLS shortens it.
 */
export default defineConfig({
  ...source,
  test: {
    ...patient,
    name: 'chaos',
    include: ['test/chaos/**/*.test.ts', ...LONG],
    globalSetup: ['test/support/postgres-setup.ts'],
    fileParallelism: false,
    // One seed for all files of a run; every line of progress names it.
    env: { CHAOS_SEED: process.env['CHAOS_SEED'] ?? String(randomInt(2 ** 31)) },
    testTimeout: 300_000,
    hookTimeout: 60_000,
  },
});
