import { randomBytes } from 'node:crypto';

import { Client, escapeIdentifier } from 'pg';
import type { TestProject } from 'vitest/node';

import { startPostgres } from './postgres.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The server that all tests share; every test file keeps to a schema of its own, see `freshSchema`. */
    readonly postgresUrl: string;
    /** What the names of this run's schemas begin with. */
    readonly postgresSchemaPrefix: string;
  }
}

/** One PostgreSQL for all end-to-end tests of a run. */
export default async (project: TestProject): Promise<() => Promise<void>> => {
  const server = await startPostgres();
  const prefix = `test_${randomBytes(4).toString('hex')}_`;
  project.provide('postgresUrl', server.url);
  project.provide('postgresSchemaPrefix', prefix);
  return async () => {
    try {
      await dropSchemas(server.url, prefix);
    } finally {
      await server.stop();
    }
  };
};

/** On a server that is not ours nothing may stay behind. */
const dropSchemas = async (url: string, prefix: string): Promise<void> => {
  const client = new Client(url);
  await client.connect();
  try {
    const { rows } = await client.query<{ nspname: string }>(
      'SELECT nspname FROM pg_namespace WHERE starts_with(nspname, $1)',
      [prefix],
    );
    for (const { nspname } of rows) await client.query(`DROP SCHEMA ${escapeIdentifier(nspname)} CASCADE`);
  } finally {
    await client.end();
  }
};
