import { SealaneError } from '#domain';

import type { Storage } from './storage.ts';

/** Opens a store by its address: `memory`, `sqlite:FILE` or `postgres://…`. Loads only the driver that is needed. */
export const openStore = async (address: string): Promise<Storage> => {
  if (address === 'memory' || /^sqlite:./.test(address)) {
    const { openSqlite } = await import('./sqlite/index.ts');
    return openSqlite({ file: address === 'memory' ? ':memory:' : address.slice('sqlite:'.length) });
  }
  if (/^postgres(ql)?:\/\//.test(address)) {
    const { openPostgres } = await import('./postgres/index.ts');
    return openPostgres({ url: address });
  }
  // What comes after the scheme may be a password.
  const shown = address.replace(/:.*/s, ':…');
  throw new SealaneError(
    'bad-config',
    `"${shown}" is no store: use memory, sqlite:FILE or postgres://user:password@host/database.`,
  );
};
