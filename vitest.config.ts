import { availableParallelism } from 'node:os';

import { defineConfig } from 'vitest/config';

import { LONG } from './vitest.long.ts';
import { patient, source } from './vitest.source.ts';

/** Tests beside the source that start processes or search for a while: not for every save. */
const PROCESSES = [
  'packages/*/src/cli/**/*.test.ts',
  'packages/*/src/agents/command/**/*.test.ts',
  'packages/*/src/agents/openclaw/cli/openclaw-cli-agent.test.ts',
  'packages/*/src/testing/**/*.test.ts',
  'packages/*/src/store/sqlite/**/*.test.ts',
];

/** `unit` runs in seconds and needs nothing; `e2e` starts real processes and a real PostgreSQL. */
export default defineConfig({
  test: {
    // Most tests wait for processes and disks: two at a time are not slower, even on two cores.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: [
      {
        ...source,
        test: {
          ...patient,
          name: 'unit',
          include: ['packages/*/src/**/*.test.ts', 'test/architecture.test.ts'],
          exclude: PROCESSES,
        },
      },
      {
        ...source,
        test: {
          ...patient,
          name: 'e2e',
          include: ['test/**/*.test.ts', ...PROCESSES],
          exclude: ['test/architecture.test.ts', 'test/chaos/**', 'test/openclaw/**', ...LONG],
          globalSetup: ['test/support/postgres-setup.ts'],
        },
      },
    ],
  },
});
