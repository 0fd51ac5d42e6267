import { defineConfig } from 'vitest/config';

const source = {
  resolve: { conditions: ['sealane:source', 'module', 'node', 'default'] },
  ssr: { resolve: { conditions: ['sealane:source', 'module', 'node', 'default'] } },
};

/** `unit` runs in seconds and needs nothing; `e2e` starts real processes and a real PostgreSQL. */
export default defineConfig({
  test: {
    projects: [
      {
        ...source,
        test: { name: 'unit', include: ['packages/*/src/**/*.test.ts', 'test/architecture.test.ts'] },
      },
      {
        ...source,
        test: {
          name: 'e2e',
          include: ['test/**/*.test.ts'],
          exclude: ['test/architecture.test.ts', 'test/chaos/**'],
          globalSetup: ['test/support/postgres-setup.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
