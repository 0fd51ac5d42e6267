/** A key that cards are signed with. */
export interface CardKeyRecord {
  readonly kid: string;
  /** The private key as a JWK, in JSON text: a secret. */
  readonly privateJwk: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** Since when another key is in its place; null for the one in use. */
  readonly retiredAt: number | null;
}

/** Where the keys are kept. Instances that serve the same agents must share one. */
export interface CardKeyStore {
  /** All keys, the newest first. At most one is in use. */
  list(): Promise<readonly CardKeyRecord[]>;
  /**
   * Retires `former`, which must be the key in use (null: no key may be in use), and adds `next`, as one atomic step.
   * `lost`: somebody else was faster, and nothing was written.
   */
  replace(former: string | null, next: CardKeyRecord, at: number): Promise<'replaced' | 'lost'>;
  /** Deletes the keys that were retired before that time. */
  forget(retiredBefore: number): Promise<void>;
}

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
