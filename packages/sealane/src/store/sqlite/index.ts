/**
 * SQLite: the embedded store, one file for one process. Start with `sqlite-store.ts`, which hands calls to a thread
 * (`sqlite-worker.ts`). `sqlite-writer.ts` makes them durable: first in the redo log (`redo-log.ts`, `redo-file.ts`), a
 * moment later in the database; `redo.ts` repeats them after a crash. `sqlite-database.ts` opens, migrates and
 * translates, `open-at-rest.ts` refuses a database that is gone while its logs are there, `sqlite-lock.ts` keeps a
 * second process out.
 */
export { holderOf, lockFile } from './sqlite-lock.ts';
export type { SqliteStoreOptions } from './sqlite-store.ts';
export { openSqlite } from './sqlite-store.ts';
