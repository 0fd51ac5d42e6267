import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

import { escapeIdentifier } from 'pg';
import { openStore } from 'sealane/store';
import { describe, expect, inject, it, onTestFinished } from 'vitest';

import { SealaneError } from '../../packages/sealane/src/domain/index.ts';
import { openPostgres, type PostgresStoreOptions } from '../../packages/sealane/src/store/postgres/index.ts';

import { freshSchema } from '../support/fresh-schema.ts';
import { connectBeside, open } from '../support/postgres-stores.ts';

const refusalOf = async (opening: Promise<unknown>): Promise<SealaneError> => {
  const error = await opening.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof SealaneError) return error;
  throw new Error('It was not refused, or not in words for the operator.', { cause: error });
};
const refusal = (options: PostgresStoreOptions): Promise<SealaneError> => refusalOf(openPostgres(options));
const withSearch = (search: string): string => Object.assign(new URL(inject('postgresUrl')), { search }).href;

describe('what cannot be opened', () => {
  it.each([
    ['a server without TLS', () => withSearch('?sslmode=verify-full'), 'store-unwritable', 'take sslmode out'],
    [
      'a certificate file that is not there',
      () => withSearch('?sslmode=verify-full&sslrootcert=/nowhere/root.pem'),
      'bad-config',
      '/nowhere/root.pem',
    ],
    [
      'a socket that is not there',
      () => 'postgres://ann@%2Fnowhere/tasks',
      'unavailable',
      'Check that the server runs',
    ],
  ])('says what to do about %s', async (_, url, code, advice) => {
    expect(await refusal({ url: url(), schema: freshSchema().schema })).toMatchObject({
      code,
      message: expect.stringContaining(advice),
    });
  });

  it.each(['s3c@r3t/w0rd', 's3c#r3t', 's3c/r3t'])(
    'shows nothing of a password that is not written as it must be (%s), and says how',
    async (password) => {
      const { code, message } = await refusal({ url: `postgres://ann:${password}@127.0.0.1:1/tasks` });
      expect(code).toBe('bad-config');
      expect(message).toContain('@ as %40');
      expect(message).not.toMatch(/s3c|r3t|w0rd/);
    },
  );

  it('shows nothing of the password in an address of another kind', async () => {
    const { message } = await refusalOf(openStore('mysql://ann:s3cret@127.0.0.1/tasks'));
    expect(message).toContain('"mysql:…" is no store');
    expect(message).not.toContain('s3cret');
  });

  it('asks for TLS where a server lets nobody in without it', async () => {
    const said =
      'SFATAL\0C28000\0Mno pg_hba.conf entry for host "::1", user "ann", database "tasks", no encryption\0\0';
    const size = Buffer.alloc(4);
    size.writeInt32BE(said.length + 4);
    const server = createServer((socket) => {
      socket
        .on('error', () => {})
        .once('data', () => socket.end(Buffer.concat([Buffer.from('E'), size, Buffer.from(said)])));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    expect(await refusal({ url: `postgres://ann:p@127.0.0.1:${port}/tasks` })).toMatchObject({
      code: 'store-unwritable',
      message: expect.stringContaining('add ?sslmode=verify-full to --store'),
    });
  });

  it.each(['that is empty', 'with tables'])(
    'asks for rights on a schema %s that its user may not use',
    async (which) => {
      const { url, schema } = freshSchema();
      const role = `role_${schema}`;
      const beside = await connectBeside(url);
      await beside.query(`CREATE SCHEMA ${escapeIdentifier(schema)}; CREATE ROLE ${role} LOGIN PASSWORD 'p'`);
      if (which === 'with tables') await open({ url, schema });
      try {
        const theirs = Object.assign(new URL(url), { username: role, password: 'p' });
        expect(await refusal({ url: theirs.href, schema })).toMatchObject({
          code: 'store-unwritable',
          message: expect.stringContaining('ownership of the schema'),
        });
      } finally {
        await beside.query(`DROP ROLE ${role}`);
      }
    },
  );
});
