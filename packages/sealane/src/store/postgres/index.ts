/**
 * PostgreSQL: the store that several instances share. `postgres-store.ts` opens it and runs the steps, each in a
 * transaction (`transaction.ts`; `commit-fate.ts` if the answer to its commit is lost) on a connection of a pool;
 * `dialect.ts` turns the shared statements into PostgreSQL's; `append-groups.ts` lets appends share commits; `wakes.ts`
 * tells the other instances; `migrate.ts` makes the tables. It keeps no state of its own: everything is in the database,
 * in one schema.
 */
export type { PostgresStoreOptions } from './postgres-store.ts';
export { describePostgres, openPostgres } from './postgres-store.ts';
