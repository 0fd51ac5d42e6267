import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { raceCancels } from './chaos/cancel-races.ts';
import { killScenario } from './chaos/kill-scenario.ts';
import { chaosSeed, seededRandom } from './chaos/seeded-random.ts';
import { freshSchema } from './support/fresh-schema.ts';

const kills = Number(process.env['CHAOS_KILLS'] ?? 4);

/** A taste of `npm run test:chaos`, for every `npm test`. */
describe(`a short storm (CHAOS_SEED=${chaosSeed} plays it again)`, { timeout: 180_000 }, () => {
  it.concurrent(`on SQLite every promise is kept through ${kills} kills`, async () => {
    await killScenario({
      name: 'short storm on SQLite',
      kills,
      instances: 1,
      store: (folder) => ({ kind: 'sqlite', file: join(folder, 'data', 'sealane.db') }),
    });
  });

  it.concurrent(`on PostgreSQL every promise is kept through ${kills} kills`, async () => {
    const place = freshSchema();
    await killScenario({
      name: 'short storm on PostgreSQL',
      kills,
      instances: 2,
      store: () => ({ kind: 'postgres', ...place }),
    });
  });

  it('of 1,000 tasks canceled as they end, each ends once and as its canceler was told', async () => {
    const { violations } = await raceCancels(1000, seededRandom('short cancel races'));
    expect(violations).toEqual([]);
  });
});
