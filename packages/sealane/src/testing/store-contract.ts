import { randomUUID } from 'node:crypto';

import { describeAdmission } from './store-contract/admission.ts';
import { describeAnswers } from './store-contract/answers.ts';
import { describeCancelling } from './store-contract/cancelling.ts';
import { describeConditions } from './store-contract/conditions.ts';
import { describeClaiming } from './store-contract/claiming.ts';
import {
  type ContractStore,
  type Corner,
  createCorner,
  type OpenContractStore,
} from './store-contract/contract-corner.ts';
import { describeEnding } from './store-contract/ending.ts';
import { describeFairness } from './store-contract/fairness.ts';
import { describeFollowUps } from './store-contract/follow-ups.ts';
import { describeIdempotency } from './store-contract/idempotency.ts';
import { describeLanes } from './store-contract/lanes.ts';
import { describeLeases } from './store-contract/leases.ts';
import { describeListing } from './store-contract/listing.ts';
import { describeListPages } from './store-contract/list-pages.ts';
import { describeNumbering } from './store-contract/numbering.ts';
import { describeOperator } from './store-contract/operator.ts';
import { describeOutbox } from './store-contract/outbox.ts';
import { describePutting } from './store-contract/putting.ts';
import { describeReading } from './store-contract/reading.ts';
import { describeRecords } from './store-contract/records.ts';
import { describeRemoving } from './store-contract/removing.ts';
import { describeRuns } from './store-contract/runs.ts';
import { describeScopes } from './store-contract/scopes.ts';
import type { Suite } from './store-contract/suite.ts';
import { describeUpkeep } from './store-contract/upkeep.ts';
import { describeNeighbours, describeWakes } from './store-contract/wakes.ts';
import { describeWebhooks } from './store-contract/webhooks.ts';
import type { TestRunner } from './test-runner.ts';

export type { ContractStore, OpenContractStore } from './store-contract/contract-corner.ts';

const SECTIONS: Readonly<Record<string, (suite: Suite) => void>> = {
  numbers: describeNumbering,
  admit: describeAdmission,
  'turns as they are read': describeAnswers,
  conditions: describeConditions,
  lanes: describeLanes,
  idempotency: describeIdempotency,
  follow: describeFollowUps,
  claim: describeClaiming,
  fairness: describeFairness,
  'append, finish, release': describeRuns,
  'the first terminal event': describeEnding,
  requestCancel: describeCancelling,
  leases: describeLeases,
  'find and read': describeReading,
  list: describeListing,
  'pages of a list': describeListPages,
  scopes: describeScopes,
  put: describePutting,
  remove: describeRemoving,
  'lanes and agents, for the operator': describeOperator,
  'keys and audit': describeRecords,
  webhooks: describeWebhooks,
  'the outbox': describeOutbox,
  upkeep: describeUpkeep,
  wakes: describeWakes,
};

export interface StoreContractOptions {
  /** Several processes may have the store open; `open` then brings a neighbour. */
  readonly isShared?: boolean;
}

/**
 * The promises of the store's ports, one test for each, in the words of the ports. All tests of a backend share one
 * open store, as callers do, and each keeps to names of its own.
 */
export const describeStoreContract = (
  name: string,
  open: OpenContractStore,
  runner: TestRunner,
  { isShared = false }: StoreContractOptions = {},
): void => {
  runner.describe(`${name} keeps the store contract`, () => {
    let store: ContractStore | undefined;
    let tests = 0;
    const run = randomUUID().slice(0, 8);
    runner.beforeAll(async () => {
      store = await open();
    });
    runner.afterAll(async () => store?.close());

    const corner = (): Corner => {
      if (!store) throw new Error('The store did not open.');
      return createCorner(store, `${run}-${(tests += 1)}`);
    };
    runner.it(isShared ? 'is shared by processes' : 'belongs to one process', async () => {
      runner.expect(store?.storage.tasks.exclusive).toBe(!isShared);
    });
    const sections = { ...SECTIONS, ...(isShared && { neighbours: describeNeighbours }) };
    for (const [section, define] of Object.entries(sections)) {
      runner.describe(section, () => {
        define({ it: (promise, test) => runner.it(promise, () => test(corner())), expect: runner.expect });
      });
    }
  });
};
