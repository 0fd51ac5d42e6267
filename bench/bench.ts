import { join } from 'node:path';

import { startSystem, type System, type SystemName } from './systems.ts';

/** How much is measured: the same steps, fewer or shorter. */
export interface Effort {
  readonly rounds: number;
  readonly warmUpMs: number;
  readonly loadMs: number;
  readonly loopMs: number;
  /** Stored tasks of the large store that lookups are measured on. */
  readonly manyTasks: number;
  readonly lookupMs: number;
  /** Stored tasks, and open ones that are answered or canceled in one round, where two versions are compared. */
  readonly versionTasks: number;
  readonly openTasks: number;
}

export const FULL: Effort = {
  rounds: 5,
  // Until the compilers of all systems are done with what is hot.
  warmUpMs: 6000,
  loadMs: 1750,
  loopMs: 8000,
  manyTasks: 1_000_000,
  lookupMs: 400,
  versionTasks: 20_000,
  openTasks: 1500,
};
export const QUICK: Effort = {
  rounds: 1,
  warmUpMs: 700,
  loadMs: 1000,
  loopMs: 2500,
  manyTasks: 100_000,
  lookupMs: 200,
  versionTasks: 5000,
  openTasks: 300,
};

/** What every measurement gets. */
export interface Bench {
  readonly effort: Effort;
  readonly connections: number;
  /** For data, removed at the end; on the disk that is to be measured. */
  readonly dir: string;
  readonly signal: AbortSignal;
  /** The checkout of an earlier version to compare with. */
  readonly before: string | undefined;
  progress(text: string): void;
}

/** Systems that were started together, to be measured in turns; those that would not start, with the reason. */
export interface Field extends AsyncDisposable {
  readonly systems: readonly System[];
  readonly absent: readonly { readonly name: SystemName; readonly why: string }[];
}

let fields = 0;

/** Starts systems side by side, each with a fresh data directory; all but the one being measured are idle. */
export const startField = async (
  bench: Bench,
  names: readonly SystemName[],
  { grpc = false }: { readonly grpc?: boolean } = {},
): Promise<Field> => {
  const id = ++fields;
  const started = await Promise.allSettled(
    names.map((name) =>
      startSystem(name, {
        dataDir: join(bench.dir, `${id}-${name}`),
        signal: bench.signal,
        before: bench.before,
        grpc,
      }),
    ),
  );
  const systems = started.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []));
  const absent = started.flatMap((outcome, index) =>
    outcome.status === 'rejected' ? { name: names[index] as SystemName, why: reasonOf(outcome.reason) } : [],
  );
  for (const { name, why } of absent) bench.progress(`${name} is left out: ${why}`);
  return {
    systems,
    absent,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(systems.map((system) => system[Symbol.asyncDispose]()));
    },
  };
};

/** An error's message with those of its causes. */
export const reasonOf = (error: unknown): string =>
  error instanceof Error ? [error.message, ...(error.cause ? [reasonOf(error.cause)] : [])].join(': ') : String(error);
