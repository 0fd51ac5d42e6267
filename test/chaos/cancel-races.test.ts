import { expect, it } from 'vitest';

import { raceCancels } from './cancel-races.ts';
import { chaosSeed, seededRandom } from './seeded-random.ts';

it(
  'of 10,000 tasks canceled as they end, each ends once and as its canceler was told',
  { timeout: 180_000 },
  async () => {
    const { violations, canceled, tooLate } = await raceCancels(10_000, seededRandom('cancel races'));
    process.stdout.write(`[chaos ${chaosSeed}] cancel races: ${canceled} canceled, ${tooLate} were too late\n`);
    expect(violations.slice(0, 10)).toEqual([]);
    // Otherwise they did not race.
    expect(canceled).toBeGreaterThan(500);
    expect(tooLate).toBeGreaterThan(500);
  },
);
