/**
 * SQLite: the embedded store. `sqlite-store.ts` batches calls, `sqlite-worker.ts` executes them in a thread of its
 * own, `sqlite-database.ts` opens, migrates and translates, `sqlite-lock.ts` keeps a second process out.
 */
export { holderOf, lockFile } from './sqlite-lock.ts';
export type { SqliteStoreOptions } from './sqlite-store.ts';
export { openSqlite } from './sqlite-store.ts';
