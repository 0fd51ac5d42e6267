/**
 * SQLite: the embedded store. `sqlite-store.ts` hands calls over, `sqlite-worker.ts` takes them in a thread of its own,
 * `sqlite-writer.ts` makes them durable: in the redo log (`redo-log.ts`, its file in `redo-file.ts`) first, in the
 * database a moment later. `redo.ts` does them again after a crash. `sqlite-database.ts` opens, migrates and translates,
 * `open-at-rest.ts` refuses a database that its logs have outlived, `sqlite-lock.ts` keeps a second process out.
 */
export { holderOf, lockFile } from './sqlite-lock.ts';
export type { SqliteStoreOptions } from './sqlite-store.ts';
export { openSqlite } from './sqlite-store.ts';
