import { join } from 'node:path';

import type { Config } from './config-schema.ts';

export type StoreTarget =
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'memory' }
  | { readonly kind: 'postgres'; readonly url: string };

/** What the `store` setting means. */
export const storeTarget = ({ store, dataDir }: Pick<Config, 'store' | 'dataDir'>): StoreTarget => {
  if (store === 'memory') return { kind: 'memory' };
  return store === 'sqlite' ? { kind: 'sqlite', file: join(dataDir, 'sealane.db') } : { kind: 'postgres', url: store };
};
