import { describe, expect, it } from 'vitest';

import { powerLossScenario } from './power-loss-scenario.ts';

describe.runIf(process.platform === 'linux')('when the power fails, SQLite', () => {
  it('has everything that was acknowledged', async () => {
    const tally = await powerLossScenario({ name: 'power loss', rounds: 8, synchronous: 'FULL' });
    expect(tally.unsafeCheckpoints).toBe(0);
    // The first syncs of the database are its making; there must have been checkpoints, and something to lose.
    expect(tally.checkpoints).toBeGreaterThan(3);
    expect(tally.lost).toBeGreaterThan(0);
    // Answers went through the redo log, and the power went also while a start began a new one.
    expect(tally.redoSyncs).toBeGreaterThan(100);
    expect(tally.interruptedStarts).toBeGreaterThan(0);
  });

  it('would have lost acknowledged tasks without its redo log', async () => {
    const broken = powerLossScenario({
      name: 'power loss without a redo log',
      rounds: 6,
      synchronous: 'FULL',
      losesRedo: true,
    });
    await expect(broken).rejects.toThrow(/was acknowledged and is missing|was told/);
  });

  it.each(['NORMAL', 'OFF'] as const)('would have lost acknowledged tasks with synchronous=%s', async (synchronous) => {
    const broken = powerLossScenario({ name: `power loss with synchronous=${synchronous}`, rounds: 3, synchronous });
    // Or the database is gone, and the service says so instead of beginning anew.
    await expect(broken).rejects.toThrow(
      /was acknowledged and is missing|was told|is empty, but what was written to it/,
    );
  });
});
