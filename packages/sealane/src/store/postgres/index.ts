/**
 * PostgreSQL: the store that several instances share. It keeps no state of its own: everything is in the database, in
 * one schema. Start with `postgres-store.ts`, which runs each step in a transaction (`transaction.ts`) on a connection
 * of a pool. `commit-fate.ts` finds the outcome if the answer to a COMMIT was lost, `dialect.ts` translates the shared
 * statements, `append-groups.ts` lets appends share commits, `wakes.ts` tells the other instances, and `migrate.ts`
 * makes the tables.
 */
export type { PostgresStoreOptions } from './postgres-store.ts';
export { describePostgres, openPostgres } from './postgres-store.ts';
