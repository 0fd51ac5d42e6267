import type { CardKeyRecord, CardKeyStore } from '#store';

/** Keys that end with the process: for tests, and for stores that keep none. */
export const createMemoryCardKeyStore = (): CardKeyStore => {
  let records: readonly CardKeyRecord[] = [];
  return {
    list: async () => records,
    replace: async (former, next, at) => {
      const current = records.find(({ retiredAt }) => retiredAt === null);
      if ((current?.kid ?? null) !== former) return 'lost';
      records = [next, ...records.map((record) => (record === current ? { ...record, retiredAt: at } : record))];
      return 'replaced';
    },
    forget: async (retiredBefore) => {
      records = records.filter(({ retiredAt }) => retiredAt === null || retiredAt >= retiredBefore);
    },
  };
};
