/**
 * The reference server of the official SDK, put together as its documentation shows, with the same agent that Sealane
 * has built in: `sdk.ts PORT` keeps tasks in memory, `sdk.ts PORT FILE` in the SDK's own SQLite store.
 */
import { createRequire } from 'node:module';

import { AgentCard } from '@a2a-js/sdk';
import { DefaultRequestHandler, InMemoryTaskStore, type TaskStore } from '@a2a-js/sdk/server';
import { DatabaseTaskStore } from '@a2a-js/sdk/server/database';
import { jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express';
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
const card = AgentCard.fromJSON({
  name: 'echo',
  description: 'Echoes what it is told',
  version: '1.0.0',
  supportedInterfaces: [{ url: `http://127.0.0.1:${port}/`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  capabilities: { streaming: true, pushNotifications: false },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'echo', name: 'echo', description: 'Echoes what it is told', tags: ['echo'] }],
});

const app = express();
// Mounted first, it lifts the limit of 100 kB that the SDK's handler sets on bodies.
app.use(express.json({ limit: '10mb' }));
app.use(
  jsonRpcHandler({
    requestHandler: new DefaultRequestHandler(card, openStore(process.argv[3]), echoExecutor),
    userBuilder: UserBuilder.noAuthentication,
  }),
);
app.listen(port, '127.0.0.1', () => console.log(`sdk ready on http://127.0.0.1:${port}`));
