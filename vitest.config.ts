import { availableParallelism } from 'node:os';

import { defineConfig } from 'vitest/config';

import { LONG } from './vitest.long.ts';
import { LongestFirst } from './vitest.longest-first.ts';
import { patient, source } from './vitest.source.ts';

/** Tests beside the source that start processes or search for a while: not for every save. */
const PROCESSES = [
  'packages/*/src/cli/**/*.test.ts',
  'packages/*/src/agents/command/**/*.test.ts',
  'packages/*/src/agents/openclaw/cli/openclaw-cli-agent.test.ts',
  'packages/*/src/testing/**/*.test.ts',
  'packages/*/src/store/sqlite/**/*.test.ts',
];

/** Tests that count objects in the memory of their own process: other tests must not create or release any there. */
const ALONE = ['packages/sealane/src/agents/finished-runs.test.ts'];

/**
 * The test files that a worker runs share its process: it loads the sources once, and not once per file. A test file
 * closes what it opens, and restores what it changes in the process.
 */
const shared = { ...patient, isolate: false, unstubEnvs: true, restoreMocks: true };

/** `unit` runs in seconds and needs nothing; `e2e` starts real processes and a real PostgreSQL; `alone` is isolated. */
export default defineConfig({
  test: {
    // Most tests wait for processes and disks: three at a time keep two cores busy.
    maxWorkers: Math.max(3, availableParallelism() - 1),
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        ...source,
        test: {
          ...shared,
          name: 'unit',
          include: ['packages/*/src/**/*.test.ts', 'test/architecture.test.ts'],
          exclude: [...PROCESSES, ...ALONE],
        },
      },
      { ...source, test: { ...patient, name: 'alone', include: ALONE } },
      {
        ...source,
        test: {
          ...shared,
          name: 'e2e',
          include: ['test/**/*.test.ts', ...PROCESSES],
          exclude: ['test/architecture.test.ts', 'test/chaos/**', 'test/openclaw/**', ...LONG],
          globalSetup: ['test/support/postgres-setup.ts'],
        },
      },
    ],
  },
});
