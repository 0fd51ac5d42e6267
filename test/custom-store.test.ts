import { describeStoreContract } from 'sealane/testing';
import { openStore } from 'sealane/store';
import * as vitest from 'vitest';

import { watched } from '../examples/custom-store.ts';

describeStoreContract(
  'The store of examples/custom-store.ts',
  async () => {
    const storage = await openStore('memory');
    return {
      storage: watched(storage, () => undefined),
      expire: async (instance) => {
        // A lease of no length has run out at once.
        await storage.tasks.renew(instance, 0);
      },
      close: () => storage.close(),
    };
  },
  vitest,
);
