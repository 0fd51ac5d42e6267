import { SealaneError } from '#domain';

import type { CardKeyRecord, CardKeyStore } from '#store';
import { createCardKey, createKeyRing, type KeyRing, PUBLISH_MS } from './key-ring.ts';

/** A key as an operator sees it. */
export type CardKeyView = Omit<CardKeyRecord, 'privateJwk'>;

export interface CardKeys {
  /** The keys to sign with and to publish; may be half a minute old. The first call ever makes the first key. */
  ring(): Promise<KeyRing>;
  list(): Promise<readonly CardKeyView[]>;
  /**
   * Puts a new key into use. The former one signs along for a day and stays published for a week, unless it is to be
   * forgotten with all others: then cards that it signed can no longer be verified. Answers the new key's id.
   */
  rotate(options?: { readonly forgetFormer?: boolean }): Promise<string>;
}

/** How soon a rotation on another instance is seen here. */
const FRESH_MS = 30_000;

export const createCardKeys = (store: CardKeyStore, now: () => number): CardKeys => {
  let known: { readonly ring: KeyRing; readonly until: number } | undefined;
  let loading: Promise<KeyRing> | undefined;
  // Counts looks into the store: one that was overtaken by a rotation must not bring the former keys back.
  let looks = 0;

  const load = async (): Promise<KeyRing> => {
    looks += 1;
    const look = looks;
    let records = await store.list();
    if (currentOf(records) === undefined) {
      // Whoever loses the race uses the winner's.
      await store.replace(null, createCardKey(now()), now());
      records = await store.list();
    }
    const ring = createKeyRing(records, now());
    if (look === looks) known = { ring, until: now() + FRESH_MS };
    return ring;
  };

  const refresh = (): Promise<KeyRing> =>
    (loading ??= load()
      .catch((error: unknown) => {
        // Cards can be read while the store is away.
        if (known) return known.ring;
        throw error;
      })
      .finally(() => {
        loading = undefined;
      }));

  return {
    ring: async () => (known !== undefined && now() < known.until ? known.ring : await refresh()),
    list: async () => (await store.list()).map(({ privateJwk: _secret, ...view }) => view),
    rotate: async ({ forgetFormer = false } = {}) => {
      const at = now();
      const former = currentOf(await store.list())?.kid ?? null;
      const next = createCardKey(at);
      if ((await store.replace(former, next, at)) === 'lost') {
        throw new SealaneError(
          'conflict',
          'Somebody else changed the card keys at the same moment: look, then repeat.',
        );
      }
      await store.forget(forgetFormer ? at + 1 : at - PUBLISH_MS);
      await load();
      return next.kid;
    },
  };
};

const currentOf = (records: readonly CardKeyRecord[]): CardKeyRecord | undefined =>
  records.find(({ retiredAt }) => retiredAt === null);
