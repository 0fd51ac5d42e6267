/**
 * The reference server of the official SDK, put together as its documentation shows, with the same agent that Sealane
 * has built in: `sdk.ts PORT GRPC_PORT` keeps tasks in memory, `sdk.ts PORT GRPC_PORT FILE` in the SDK's own SQLite
 * store. JSON-RPC is served at `/`, REST too; gRPC unless its port is 0.
 */
import { createRequire } from 'node:module';

import { AgentCard } from '@a2a-js/sdk';
import { DefaultRequestHandler, InMemoryTaskStore, type TaskStore } from '@a2a-js/sdk/server';
import { DatabaseTaskStore } from '@a2a-js/sdk/server/database';
import { jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import { A2AService, grpcService, UserBuilder as GrpcUserBuilder } from '@a2a-js/sdk/server/grpc';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import express from 'express';
import { Kysely, SqliteDialect, type SqliteDatabase } from 'kysely';

import { echoExecutor } from './sdk-echo-executor.ts';

/** The package has no types of its own. */
type Sqlite = new (file: string) => SqliteDatabase & { pragma(text: string): unknown };

/** Durable as Sealane is: a commit is on disk before anybody hears of it. */
const openDatabase = (file: string): SqliteDatabase => {
  const Database = createRequire(import.meta.url)('better-sqlite3') as Sqlite;
  const database = new Database(file);
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  return database;
};

const openStore = (file: string | undefined): TaskStore =>
  file === undefined
    ? new InMemoryTaskStore()
    : new DatabaseTaskStore(new Kysely({ dialect: new SqliteDialect({ database: openDatabase(file) }) }));

const port = Number(process.argv[2]);
const grpcPort = Number(process.argv[3]);
const card = AgentCard.fromJSON({
  name: 'echo',
  description: 'Echoes what it is told',
  version: '1.0.0',
  supportedInterfaces: [
    { url: `http://127.0.0.1:${port}/`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    { url: `http://127.0.0.1:${port}/`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
    { url: `127.0.0.1:${grpcPort}`, protocolBinding: 'GRPC', protocolVersion: '1.0' },
  ],
  capabilities: { streaming: true, pushNotifications: false },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'echo', name: 'echo', description: 'Echoes what it is told', tags: ['echo'] }],
});

const app = express();
// Mounted first, it lifts the limit of 100 kB that the SDK's handler sets on bodies.
app.use(express.json({ limit: '10mb' }));
const requestHandler = new DefaultRequestHandler(card, openStore(process.argv[4]), echoExecutor);
app.post('/', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
app.use(restHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
if (grpcPort > 0) {
  const server = new Server();
  server.addService(A2AService, grpcService({ requestHandler, userBuilder: GrpcUserBuilder.noAuthentication }));
  server.bindAsync(`127.0.0.1:${grpcPort}`, ServerCredentials.createInsecure(), (error) => {
    if (error) throw error;
  });
}
app.listen(port, '127.0.0.1', () => console.log(`sdk ready on http://127.0.0.1:${port}`));
