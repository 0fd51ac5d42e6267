import { SealaneError } from '#domain';

import { createStepStorage, type Driver } from '../step-storage.ts';
import { READS, type StepArgs, WRITES } from '../steps/index.ts';
import { OWED_WORD, type Steps } from '../steps/step.ts';
import type { Storage } from '../storage.ts';
import { createAppendGroups } from './append-groups.ts';
import { type Database, describeDatabase, openDatabase } from './database.ts';
import { postgresError } from './postgres-error.ts';
import { createStepTransactions } from './step-transactions.ts';
import { openWakes } from './wakes.ts';

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database` */
  readonly url: string;
  /** Where all tables live; made if it is missing. */
  readonly schema?: string;
  /** Connections of this instance, besides the one that listens and the one that renews its lease. */
  readonly poolSize?: number;
  /** How long a caller waits to learn whether its change is stored, if the answer to a commit was lost. */
  readonly fateMs?: number;
  /** How long closing waits for calls in flight, and for a silent server. */
  readonly closeMs?: number;
}

const SCHEMA = 'sealane';

/** Changes nothing. Tells people whether the database answers, and throws the reason if it does not. */
export const describePostgres = (url: string): Promise<string> => describeDatabase(url, SCHEMA);

type AppendCall = { readonly task: number; readonly steps: () => Steps<never> };
type AnyStep = (...args: readonly unknown[]) => Steps<never>;

/** Many instances, one database: every step is a transaction on one of a few connections. */
export const openPostgres = async ({
  url,
  schema = SCHEMA,
  poolSize = 8,
  fateMs = 10_000,
  closeMs = 10_000,
}: PostgresStoreOptions): Promise<Storage> => {
  const database = await openDatabase({ url, schema, poolSize });
  const { pool, leasePool, description } = database;
  const wakes = await openWakes(database.connect, `sealane_wake_${schema}`);
  const owedListeners = new Set<() => void>();
  const commitListeners = new Set<(durationMs: number) => void>();
  const running = new Set<Promise<unknown>>();
  let isClosed = false;
  let isCut = false;

  const transactions = createStepTransactions({
    database,
    poolSize,
    fateMs,
    isClosed: () => isClosed,
    isCut: () => isCut,
    onCommit: (durationMs, woken) => {
      for (const listener of commitListeners) listener(durationMs);
      if (woken.delete(OWED_WORD)) for (const listener of owedListeners) listener();
      wakes.announce(woken);
    },
  });
  const append = createAppendGroups((calls: readonly AppendCall[]) =>
    transactions.write(
      'append',
      calls.map(({ steps }) => steps),
    ),
  );

  /** Lets a call run unless the store is closed, and closing waits for it. */
  const track = <T>(work: () => Promise<T>): Promise<T> => {
    if (isClosed) return Promise.reject(new SealaneError('unavailable', 'The store has been closed.'));
    const result = work();
    running.add(result);
    const leave = (): unknown => running.delete(result);
    result.then(leave, leave);
    return result;
  };

  const driver: Driver = {
    description,
    exclusive: false,
    write: (name, ...args) =>
      track(async () => {
        const steps = (): Steps<never> => (WRITES[name] as AnyStep)(...args);
        if (name === 'append') return append({ task: (args as StepArgs<typeof WRITES.append>)[0].task, steps });
        const [value] = await transactions.write(name, [steps]);
        return value as never;
      }),
    read: (name, ...args) => track(() => transactions.read(name, () => (READS[name] as AnyStep)(...args))),
    check: () => check(database),
    onWake: (listener) => wakes.onWake(listener),
    onOwed: (listener) => {
      owedListeners.add(listener);
      return { [Symbol.dispose]: () => owedListeners.delete(listener) };
    },
    onCommit: (listener) => {
      commitListeners.add(listener);
      return { [Symbol.dispose]: () => commitListeners.delete(listener) };
    },
    close: async () => {
      if (isClosed) return;
      isClosed = true;
      const patience = setTimeout(() => {
        isCut = true;
        database.cut();
      }, closeMs);
      await Promise.allSettled(running);
      await wakes.close();
      await Promise.all([pool.end(), leasePool.end()]);
      clearTimeout(patience);
    },
  };
  return createStepStorage(driver);
};

/** Also reads a table: a server may be well while the tables are gone. */
const CHECK = "SELECT current_setting('transaction_read_only') AS mode FROM schema_version LIMIT 1";

/** Says what is wrong; undefined if nothing is. */
const check = async ({ pool, place }: Database): Promise<string | undefined> => {
  try {
    const { rows } = await pool.query<{ mode: string }>(CHECK);
    return rows[0]?.mode === 'off'
      ? undefined
      : `${place} is read-only, perhaps a replica. Name the primary in --store.`;
  } catch (error) {
    const known = postgresError(error, place);
    return known instanceof Error ? known.message : String(known);
  }
};
