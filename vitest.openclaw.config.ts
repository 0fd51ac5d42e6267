import { availableParallelism } from 'node:os';

import { defineConfig } from 'vitest/config';

import { patient, source } from './vitest.source.ts';

/**
 * Tests against the real OpenClaw, which is installed beside the project when it is missing. Two files at a time: each
 * starts a Gateway of its own, and a Gateway takes a processor for a while.
 */
export default defineConfig({
  ...source,
  test: {
    ...patient,
    name: 'openclaw',
    include: ['test/openclaw/**/*.test.ts'],
    globalSetup: ['test/openclaw/install-openclaw.ts', 'test/openclaw/pack-plugin.ts'],
    maxWorkers: Math.min(2, availableParallelism()),
    testTimeout: 120_000,
    hookTimeout: 240_000,
  },
});
