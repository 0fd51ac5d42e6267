import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import * as fc from 'fast-check';
import * as vitest from 'vitest';

import { describeStoreContract, describeStoreModel, type OpenContractStore } from '#testing';

import { openSqlite } from './index.ts';

const opened = async (file: string, tidy = (): void => {}): ReturnType<OpenContractStore> => {
  const storage = await openSqlite({ file });
  return {
    storage,
    expire: async (instance) => {
      // A lease of no length has run out at once.
      await storage.tasks.renew(instance, 0);
    },
    close: async () => {
      await storage.close();
      tidy();
    },
  };
};

const inMemory: OpenContractStore = () => opened(':memory:');
const inFile: OpenContractStore = () => {
  const folder = mkdtempSync(join(tmpdir(), 'sealane-store-'));
  return opened(join(folder, 'sealane.db'), () => rmSync(folder, { recursive: true }));
};

describeStoreContract('SQLite in memory', inMemory, vitest);
describeStoreContract('SQLite in a file', inFile, vitest);

describeStoreModel('SQLite in memory', inMemory, { ...vitest, fc }, { runs: 150, crowds: 100 });
