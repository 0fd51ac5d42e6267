import { join } from 'node:path';

import { expect, it } from 'vitest';

import { freshSchema } from '../support/fresh-schema.ts';
import { killScenario } from './kill-scenario.ts';

const kills = Number(process.env['CHAOS_KILLS'] ?? 50);
const MINUTES = 60_000;

it(`SQLite keeps every promise when its service is killed ${kills} times`, { timeout: 15 * MINUTES }, async () => {
  const { tasks } = await killScenario({
    name: 'kill -9 on SQLite',
    kills,
    instances: 1,
    store: (folder) => ({ kind: 'sqlite', file: join(folder, 'data', 'sealane.db') }),
  });
  expect(tasks.length).toBeGreaterThan(kills);
});

it(
  `PostgreSQL keeps every promise when its services are killed ${kills} times`,
  { timeout: 20 * MINUTES },
  async () => {
    const place = freshSchema();
    const { tasks } = await killScenario({
      name: 'kill -9 on PostgreSQL',
      kills,
      instances: 2,
      store: () => ({ kind: 'postgres', ...place }),
    });
    expect(tasks.length).toBeGreaterThan(kills);
  },
);
