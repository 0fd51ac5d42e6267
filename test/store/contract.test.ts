import * as fc from 'fast-check';
import { describeStoreContract, describeStoreModel, type OpenContractStore } from 'sealane/testing';
import * as vitest from 'vitest';

import { openPostgres } from '../../packages/sealane/src/store/postgres/index.ts';
import { freshSchema } from '../support/fresh-schema.ts';

const onPostgres: OpenContractStore = async () => {
  const place = freshSchema();
  const storage = await openPostgres(place);
  const neighbour = await openPostgres(place);
  return {
    storage,
    neighbour,
    expire: async (instance) => {
      // A lease of no length has run out at once.
      await storage.tasks.renew(instance, 0);
    },
    close: async () => {
      await neighbour.close();
      await storage.close();
    },
  };
};

describeStoreContract('PostgreSQL', onPostgres, vitest, { isShared: true });
describeStoreModel('PostgreSQL', onPostgres, { ...vitest, fc }, { runs: 25, crowds: 40 });
