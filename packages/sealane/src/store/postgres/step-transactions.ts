import { setTimeout as delay } from 'node:timers/promises';

import { SealaneError } from '#domain';

import { Refused, type Steps } from '../steps/step.ts';
import type { Database } from './database.ts';
import { isCrowded, isWorthRepeating, postgresError, tooManyConflicts } from './postgres-error.ts';
import { type Mode, type RunSteps, transact } from './transaction.ts';

/**
 * How often a step is tried before its caller gets the error. Each connection of the pool adds one, because all may be
 * lost.
 */
const ATTEMPTS = 10;

/** Runs steps in transactions, and retries a transaction that lost a race. */
export interface StepTransactions {
  /** Runs the steps of each call, side by side in one transaction. Resolves after the commit. */
  write<T>(name: string, calls: readonly (() => Steps<T>)[]): Promise<readonly T[]>;
  read<T>(name: string, steps: () => Steps<T>): Promise<T>;
}

export const createStepTransactions = (options: {
  readonly database: Pick<Database, 'pool' | 'leasePool' | 'place'>;
  readonly poolSize: number;
  /** How long a caller waits to learn whether its change is stored, if the answer to a commit was lost. */
  readonly fateMs: number;
  /** True: no new calls come in. */
  readonly isClosed: () => boolean;
  /** True: every connection was broken, and no call waits any longer. */
  readonly isCut: () => boolean;
  /** Called after a commit. `woken` is what its steps asked to wake. */
  readonly onCommit: (durationMs: number, woken: Set<string>) => void;
}): StepTransactions => {
  const { database, poolSize, fateMs, isClosed, isCut, onCommit } = options;
  const { pool, leasePool, place } = database;

  const attempt = async <T>(name: string, mode: Mode, work: (run: RunSteps) => Promise<T>): Promise<T> => {
    // The engine cannot look whether an append was stored before it retries. So an append asks for its outcome until it
    // is known, or until the store is closed.
    const isCurious = (forMs: number): boolean => !isCut() && (forMs < fateMs || (name === 'append' && !isClosed()));
    let connections = name === 'renew' ? leasePool : pool;
    for (let times = 1; ; times += 1) {
      try {
        return await transact(connections, mode, work, isCurious);
      } catch (error) {
        if (error instanceof Refused) throw error;
        // A shared connection is better than none.
        if (isCrowded(error)) connections = pool;
        if (isCut() || !isWorthRepeating(error)) throw postgresError(error, place);
        if (times >= ATTEMPTS + poolSize) throw toRefuse(error, name, times);
      }
      await delay(Math.random() * Math.min(2 ** times, 50));
    }
  };
  const toRefuse = (error: unknown, name: string, times: number): unknown => {
    const known = postgresError(error, place);
    return known instanceof SealaneError ? known : tooManyConflicts(name, times, error);
  };

  return {
    write: async <T>(name: string, calls: readonly (() => Steps<T>)[]): Promise<readonly T[]> => {
      let woken = new Set<string>();
      let startedAt = 0;
      try {
        const values = await attempt(name, 'write', (run) => {
          woken = new Set();
          startedAt = performance.now();
          return Promise.all(calls.map((steps) => run(steps(), woken)));
        });
        onCommit(performance.now() - startedAt, woken);
        return values;
      } catch (error) {
        // The transaction was rolled back. For the other calls of a group that is no answer: each is run alone then.
        if (error instanceof Refused && calls.length === 1) return [error.value as T];
        throw error;
      }
    },
    read: (name, steps) => attempt(name, 'read', (run) => run(steps(), new Set())),
  };
};
