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
  /** Only for the lease: all connections of the pool may be waiting for a locked row. */
  readonly leasePool: Pool;
  /** A new connection outside the pool, not connected yet. */
  readonly connect: () => Client;
  /** Breaks every connection: a connection to a silent server would never close. */
  cut(): void;
}

const BIGINT = 20;

/** Everything we store in a BIGINT is a time, a count or a key, far below 2^53. */
const types: CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === BIGINT ? Number : standard.getTypeParser(oid, format)) as typeof standard.getTypeParser,
};

/**
 * Our own limits replace those that an administrator has set for people's queries: with those, a step that waits for a
 * row could fail. In this order: how long the server may take for one statement, and for one of a migration; how long
 * we wait for its answer; how long a frozen instance may hold its locks; how long to wait for a connection. We wait
 * longer than the server works: otherwise a statement could wait for a lock after its caller has given up.
 */
const STATEMENT_MS = 25_000;
const MIGRATION_MS = 600_000;
const ANSWER_MS = 30_000;
const IDLE_IN_TRANSACTION_MS = 10_000;
const CONNECT_MS = 10_000;
/**
 * Set by statements, because poolers refuse a connection that begins with settings that they do not know. Not every
 * version of PostgreSQL knows both of the last two.
 */
const limits = (statementMs: number): string => `
  SET statement_timeout TO ${statementMs};
  SET lock_timeout TO ${STATEMENT_MS};
  SET idle_in_transaction_session_timeout TO ${IDLE_IN_TRANSACTION_MS};
  SELECT set_config(name, '0', false) FROM pg_settings WHERE name IN ('transaction_timeout', 'idle_session_timeout')`;

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
  const { base, connect, where, place } = addressOf(url);
  await withClient(connect(), place, async (client) => {
    await client.query(limits(MIGRATION_MS));
    await migrate(client, schema, place);
  });

  const connected = new Set<Client>();
  const poolOf = (max: number): Pool =>
    new Pool({
      ...base,
      max,
      idleTimeoutMillis: 60_000,
      query_timeout: ANSWER_MS,
      pipeline: true,
      verify: (client, done) => {
        client.on('error', () => {});
        client.query(sessionSettings(schema)).then(() => done(), done);
      },
    })
      .on('error', () => {})
      .on('connect', (client) => connected.add(client))
      .on('remove', (client) => connected.delete(client));
  return {
    description: `PostgreSQL, ${where}`,
    place,
    pool: poolOf(options.poolSize),
    leasePool: poolOf(1),
    connect: () => {
      const client = connect({ query_timeout: ANSWER_MS });
      connected.add(client.once('end', () => connected.delete(client)));
      return client;
    },
    cut: () => {
      for (const client of connected) client.connection.stream.destroy();
    },
  };
};

interface Address {
  readonly base: ClientConfig;
  readonly connect: (more?: ClientConfig) => Client;
  readonly where: string;
  readonly place: string;
}

const addressOf = (url: string): Address => {
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
    // Without a listener, the loss of an idle connection would end the process. The next statement reports the loss.
    client.on('error', () => {});
    return client;
  };
  const where = whereOf(connect);
  return { base, connect, where, place: `PostgreSQL ${where}` };
};

/** Changes nothing. Tells people whether the database answers, and whether it has the schema of a service. */
export const describeDatabase = async (url: string, schema: string): Promise<string> => {
  const { connect, where, place } = addressOf(url);
  return withClient(connect({ query_timeout: CONNECT_MS }), place, async (client) => {
    const { rowCount } = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
    return `PostgreSQL, ${where}, answers${rowCount ? '' : '; its tables will be made at the first start'}`;
  });
};

/**
 * Every statement has an index made for it. So its plan is the same for all parameters, and is made once. Nothing may
 * be scanned from end to end, however small it looks: lanes and turns come and go by the thousand, and between two
 * vacuums a scan would read all the dead rows.
 */
const sessionSettings = (schema: string): string => `
  ${limits(STATEMENT_MS)};
  SET search_path TO ${escapeIdentifier(schema)};
  SET plan_cache_mode TO force_generic_plan;
  SET enable_seqscan TO off;
  SET jit TO off`;

const NO_ADDRESS =
  'The address in --store is not one of a database: write postgres://user:password@host:port/database. ' +
  'In the password, write @ as %40, : as %3A, / as %2F, ? as %3F, # as %23 and % as %25.';

const whereOf = (connect: () => Client): string => {
  try {
    const { host, port, database } = connect();
    // The parser has taken parts of a password with one of these characters for a host and a database: do not show
    // them.
    if (/[/@]/.test(database ?? '')) throw new URIError('A part of the password may have ended up in the database.');
    return `${host}:${port}/${database}`;
  } catch (error) {
    const { code, path } = error as { readonly code?: unknown; readonly path?: unknown };
    if (typeof code === 'string' && typeof path === 'string') {
      throw new SealaneError('bad-config', `The file ${path}, which --store names, cannot be read (${code}).`);
    }
    // The parser's own message could show the password.
    throw new SealaneError('bad-config', NO_ADDRESS);
  }
};

const withClient = async <T>(client: Client, place: string, work: (client: Client) => Promise<T>): Promise<T> => {
  try {
    await client.connect();
    return await work(client);
  } catch (error) {
    throw postgresError(error, place);
  } finally {
    await client.end().catch(() => {});
  }
};
