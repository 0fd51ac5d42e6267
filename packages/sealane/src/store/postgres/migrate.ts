import { type Client, escapeIdentifier } from 'pg';

import { SealaneError } from '#domain';

import { MIGRATIONS } from '../schema.sql.ts';
import { inPostgresSchema } from './dialect.ts';

/** The clock of the database, which is the same for all instances. */
export const CLOCK = `
  CREATE OR REPLACE FUNCTION now_ms() RETURNS BIGINT LANGUAGE sql VOLATILE
  AS 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::BIGINT'`;

/**
 * Brings the schema to this version in one transaction, as a whole or not at all. Instances that start together wait
 * for an advisory lock one after another, and all but the first find the work done.
 */
export const migrate = async (client: Client, schema: string, place: string): Promise<void> => {
  // An instance that has waited must see what the first one has done, whatever the default isolation of this user is.
  await client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
  await client.query("SELECT pg_advisory_xact_lock(hashtext('sealane migration'), hashtext($1))", [schema]);
  await refuseOtherEncodings(client, place);
  // Asked first, because IF NOT EXISTS needs the right to create even if there is nothing to create.
  const { rowCount: hasSchema } = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
  if (!hasSchema) await client.query(`CREATE SCHEMA ${escapeIdentifier(schema)}`);
  await client.query(`SET LOCAL search_path TO ${escapeIdentifier(schema)}`);
  const version = await versionOf(client, schema, place);
  if (version > 0 && version < MIGRATIONS.length) await refuseBesideOthers(client, place);
  for (const [index, statements] of MIGRATIONS.entries()) {
    if (index < version) continue;
    if (index === 0) await client.query(CLOCK);
    for (const statement of statements) await client.query(inPostgresSchema(statement));
    await client.query('INSERT INTO schema_version (version, migrated_at) VALUES ($1, now_ms())', [index + 1]);
  }
  await client.query('COMMIT');
};

const versionOf = async (client: Client, schema: string, place: string): Promise<number> => {
  const { rows: tables } = await client.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind IN ('r', 'p', 'v')`,
    [escapeIdentifier(schema)],
  );
  if (tables.length === 0) {
    await client.query('CREATE TABLE schema_version (version BIGINT PRIMARY KEY, migrated_at BIGINT NOT NULL)');
    return 0;
  }
  if (!tables.some(({ name }) => name === 'schema_version')) {
    throw new SealaneError(
      'store-damaged',
      `The schema ${schema} of ${place} holds tables of another program. Name another database in --store. Nothing was changed.`,
    );
  }
  // Names the schema: otherwise, to a user who may not use the schema, the table would only seem to be missing.
  const { rows } = await client.query<{ version: number }>(
    `SELECT coalesce(max(version), 0)::INT AS version FROM ${escapeIdentifier(schema)}.schema_version`,
  );
  const version = rows[0]?.version ?? 0;
  if (version > MIGRATIONS.length) {
    throw new SealaneError(
      'store-newer',
      `${place} was written by a newer Sealane (schema ${version}, this version knows ${MIGRATIONS.length}). ` +
        'Start the newer version, or choose another database with --store. Nothing was changed.',
    );
  }
  return version;
};

/**
 * Refuses to migrate while instances of an earlier version run: their next statement would fail on the new tables. An
 * earlier version that starts after the migration is refused because of the version of the tables.
 */
const refuseBesideOthers = async (client: Client, place: string): Promise<void> => {
  const { rows } = await client.query<{ count: number; leftMs: number }>(
    `SELECT count(*)::INT AS count, coalesce(max(lease_until) - now_ms(), 0)::INT AS "leftMs"
     FROM instances WHERE lease_until > now_ms()`,
  );
  const { count = 0, leftMs = 0 } = rows[0] ?? {};
  if (count === 0) return;
  throw new SealaneError(
    'store-locked',
    `${place} is used by ${count} running instance${count === 1 ? '' : 's'} of an earlier version of Sealane, and this ` +
      'version must change the tables. Stop all instances, then start this version. After a crash, wait ' +
      `${Math.ceil(leftMs / 1000)} s first. Nothing was changed.`,
    { facts: { instances: String(count) } },
  );
};

/** Messages are in every language; a database in a national encoding would refuse some of them later. */
const refuseOtherEncodings = async (client: Client, place: string): Promise<void> => {
  const { rows } = await client.query<{ encoding: string }>("SELECT current_setting('server_encoding') AS encoding");
  const encoding = rows[0]?.encoding;
  if (encoding === 'UTF8') return;
  throw new SealaneError(
    'store-unwritable',
    `${place} is encoded in ${encoding}. Make a database WITH ENCODING 'UTF8' and name it in --store.`,
  );
};
