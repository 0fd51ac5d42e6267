import { Client, type ClientConfig, type CustomTypesConfig, escapeIdentifier, Pool, types as standard } from 'pg';

import { SealaneError } from '#domain';

import { migrate } from './migrate.ts';
import { postgresError } from './postgres-error.ts';

/** A database that has been reached and migrated. */
export interface Database {
  /** For people: `PostgreSQL, host:port/database`. */
  readonly description: string;
  /** The same inside a sentence. */
  readonly place: string;
  readonly pool: Pool;
  /** A new connection outside the pool, not connected yet. */
  readonly connect: () => Client;
}

const BIGINT = 20;

/** Everything we store in a BIGINT is a time, a count or a key, far below 2^53. */
const types: CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === BIGINT ? Number : standard.getTypeParser(oid, format)) as typeof standard.getTypeParser,
};

/** How long the server may take for one statement, how long a frozen instance may hold its locks, and how long to wait for a connection. */
const STATEMENT_MS = 30_000;
const IDLE_IN_TRANSACTION_MS = 10_000;
const CONNECT_MS = 10_000;

export const openDatabase = async (options: {
  readonly url: string;
  readonly schema: string;
  readonly poolSize: number;
}): Promise<Database> => {
  const { url, schema } = options;
  if (!/^[a-z_][a-z0-9_]{0,47}$/.test(schema)) {
    throw new SealaneError(
      'bad-config',
      `"${schema}" cannot be the name of the schema: use at most 48 lower-case letters, digits and underscores.`,
    );
  }
  const base: ClientConfig = {
    connectionString: url,
    fallback_application_name: 'sealane',
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types,
  };
  const connect = (more: ClientConfig = {}): Client => {
    const client = new Client({ ...base, ...more });
    // Without a listener the loss of an idle connection would end the process; its user notices by the next statement.
    client.on('error', () => {});
    return client;
  };
  const where = whereOf(connect);
  const place = `PostgreSQL ${where}`;
  await withClient(connect(), place, (client) => migrate(client, schema, place));

  const pool = new Pool({
    ...base,
    max: options.poolSize,
    idleTimeoutMillis: 60_000,
    query_timeout: STATEMENT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    pipeline: true,
    verify: (client, done) => {
      client.on('error', () => {});
      client.query(sessionSettings(schema)).then(() => done(), done);
    },
  });
  pool.on('error', () => {});
  return { description: `PostgreSQL, ${where}`, place, pool, connect: () => connect({ query_timeout: STATEMENT_MS }) };
};

/**
 * Every statement has an index made for it, so the plan is the same whatever the parameters: it is made once. Nothing
 * is to be scanned from end to end, however small it looks: lanes and turns come and go by the thousand, and between
 * two vacuums a scan would wade through all that are gone.
 */
const sessionSettings = (schema: string): string => `
  SET search_path TO ${escapeIdentifier(schema)};
  SET plan_cache_mode TO force_generic_plan;
  SET enable_seqscan TO off;
  SET jit TO off`;

const whereOf = (connect: () => Client): string => {
  try {
    const { host, port, database } = connect();
    return `${host}:${port}/${database}`;
  } catch {
    // The parser's own message could show the password.
    throw new SealaneError(
      'bad-config',
      'The address in --store is not one of a database: write postgres://user:password@host:port/database.',
    );
  }
};

const withClient = async (client: Client, place: string, work: (client: Client) => Promise<void>): Promise<void> => {
  try {
    await client.connect();
    await work(client);
  } catch (error) {
    throw postgresError(error, place);
  } finally {
    await client.end().catch(() => {});
  }
};
