import { randomUUID } from 'node:crypto';

import {
  type ContractStore,
  type Corner,
  createCorner,
  type OpenContractStore,
} from './store-contract/contract-corner.ts';
import { type Fc, storeCommands } from './store-model/commands.ts';
import { createCrowd, disperse, rush, waves } from './store-model/crowd.ts';
import { expectOrder } from './store-model/crowd-invariants.ts';
import { drain } from './store-model/drain.ts';
import type { GivenFastCheck } from './store-model/given-fast-check.ts';
import { createWorld } from './store-model/model-world.ts';
import type { TestRunner } from './test-runner.ts';

export interface StoreModelOptions {
  /** Random histories, one command after the other. */
  readonly runs: number;
  /** Random histories in which many call at the same moment. */
  readonly crowds: number;
  /** Replays what fast-check printed. */
  readonly seed?: number;
  readonly path?: string;
  readonly timeoutMs?: number;
}

/**
 * Random histories on the store and on a plain model of it: after every command they must look the same. The runner's
 * functions and fast-check come from the caller, so that this package depends on neither.
 */
export const describeStoreModel = (
  name: string,
  open: OpenContractStore,
  runner: TestRunner & { readonly fc: GivenFastCheck },
  { runs, crowds, seed, path, timeoutMs = 120_000 }: StoreModelOptions,
): void => {
  const { expect } = runner;
  const fc = runner.fc as unknown as Fc;
  const parameters = { ...(seed !== undefined && { seed }), ...(path !== undefined && { path }), endOnFailure: false };
  runner.describe(`${name} behaves like the model of a store`, () => {
    let store: ContractStore | undefined;
    let corners = 0;
    const prefix = randomUUID().slice(0, 8);
    runner.beforeAll(async () => {
      store = await open();
    });
    runner.afterAll(async () => store?.close());

    /** Every history has names of its own, in the one store that all share. */
    const newCorner = (): Corner => {
      if (!store) throw new Error('The store did not open.');
      return createCorner(store, `${prefix}-${(corners += 1)}`);
    };

    runner.it(
      `in ${runs} random histories of up to 60 steps`,
      async () => {
        const histories = fc.commands(storeCommands(fc), { maxCommands: 60, size: 'max' });
        const property = fc.asyncProperty(histories, async (history) => {
          const world = await createWorld(newCorner(), expect);
          await fc.asyncModelRun(() => ({ model: world, real: world }), history);
          await drain(world);
        });
        await fc.assert(property, { ...parameters, numRuns: runs });
      },
      timeoutMs,
    );

    runner.it(
      `in ${crowds} random histories in which many call at the same moment: no gap, one run per lane, in order, one end`,
      async () => {
        const property = fc.asyncProperty(waves(fc), async (history) => {
          const crowd = await createCrowd(newCorner(), expect);
          for (const wave of history) {
            await rush(crowd, wave);
            await expectOrder(crowd);
          }
          await disperse(crowd);
          await expectOrder(crowd);
        });
        await fc.assert(property, { ...parameters, numRuns: crowds });
      },
      timeoutMs,
    );
  });
};
