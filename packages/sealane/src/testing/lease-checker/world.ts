import { events, heads, instances, lanes, tasks, turns } from './protocol.ts';
import type { EndState, Run, Protocol } from './protocol.ts';
import { withWrites } from './row-store.ts';
import type { OpenTransaction } from './row-store.ts';
import { addressOf } from './statement.ts';
import type { Rows, Table } from './statement.ts';

/**
 * How an instance stands. It is `awake` until its fault, if it has one:
 * - `crash`: it is `dead`, and the server rolls its open transactions back at some later time;
 * - `cut off`: it aborts its runs in time, before its lease ends, and is `stopped`; but what it has already sent may
 *   still be carried out;
 * - `pause`: a zombie. It takes itself for alive, and whatever it does next may reach the database at any later time.
 *   It is `overdue` once its lease has run out. The answer to its next renewal tells it whether to stop.
 * - `unanswered …`: a commit is carried out and its answer is lost, while the instance goes on.
 *
 * The lease of an instance that is awake never runs out: to abort one's runs before that is to be cut off.
 */
export type Mind = 'awake' | 'paused' | 'overdue' | 'stopped' | 'dead';
export type Fault = 'crash' | 'cut off' | 'pause' | 'unanswered claim' | 'unanswered finish';
export type Role = 'worker' | 'reaper' | 'heartbeat' | 'caller';

export interface Scenario {
  readonly protocol: Protocol;
  /** The tasks of each lane, in their order. */
  readonly lanes: Readonly<Record<string, readonly string[]>>;
  /** One connection each; together they make the instances. */
  readonly sessions: readonly { readonly instance: string; readonly role: Role }[];
  /** What may happen to an instance, once. */
  readonly faults: Readonly<Record<string, readonly Fault[]>>;
  /** Tasks that somebody asks to cancel, one after another, each at any time. */
  readonly cancels: readonly string[];
  /** Whether a paused instance's own clock goes on, so that it knows a renewal answered too late for a loss. */
  readonly clock: 'counts' | 'stands still';
  /** What an instance does that misses an answer: it stops as if cut off, or takes it for a rollback. */
  readonly unanswered: 'stops' | 'tries again';
}

export type Call =
  | { readonly name: 'claim' | 'reap' | 'renew' }
  | { readonly name: 'append' | 'release'; readonly run: Run }
  | { readonly name: 'finish'; readonly run: Run; readonly end: EndState }
  | { readonly name: 'requestCancel'; readonly task: string };

/** A connection, and what its side of the instance remembers. */
export interface Session {
  readonly open: { readonly call: Call; readonly tx: OpenTransaction } | null;
  readonly run: Run | null;
  readonly hasAppended: boolean;
  readonly orphans: readonly Run[];
  readonly cancels: readonly string[];
}

export interface World {
  readonly rows: Rows;
  readonly sessions: readonly Session[];
  readonly minds: Readonly<Record<string, Mind>>;
  /** Instances whose fault is still to come, or never does. */
  readonly unharmed: readonly string[];
}

/** All tasks admitted, all lanes free, everybody awake and idle. */
export const firstWorld = (scenario: Scenario): World => {
  const rows: Record<string, object> = {};
  const put = <R extends object>(table: Table<R>, row: R) => {
    rows[addressOf(table, row)] = row;
  };
  for (const { instance, role } of scenario.sessions)
    if (role !== 'caller') put(instances, { id: instance, ranOut: false });
  for (const [lane, names] of Object.entries(scenario.lanes)) {
    put(lanes, { key: lane, holder: null, waiting: names.length });
    for (const [index, task] of names.entries()) {
      put(tasks, { task, lane, state: 'submitted' });
      put(turns, { lane, place: index + 1, task, holder: null, attempt: 0 });
      put(heads, { task, seq: 1, epoch: 0 });
      put(events, { task, seq: 1, kind: 'task-admitted', by: 0 });
    }
  }
  return {
    rows: withWrites({}, rows),
    sessions: scenario.sessions.map(({ role }) => ({
      open: null,
      run: null,
      hasAppended: false,
      orphans: [],
      cancels: role === 'caller' ? scenario.cancels : [],
    })),
    minds: Object.fromEntries(scenario.sessions.map(({ instance }) => [instance, 'awake'])),
    unharmed: Object.keys(scenario.faults),
  };
};

export const withSession = (world: World, index: number, session: Session): World => ({
  ...world,
  sessions: world.sessions.with(index, session),
});

/** An instance that stops, stops all of its sessions: they forget their runs, whatever is still on its way. */
export const withMind = (scenario: Scenario, world: World, instance: string, mind: Mind): World => ({
  ...world,
  minds: { ...world.minds, [instance]: mind },
  sessions:
    mind === 'stopped' || mind === 'dead'
      ? world.sessions.map((session, index) =>
          scenario.sessions[index]?.instance === instance
            ? { ...session, run: null, hasAppended: false, orphans: [] }
            : session,
        )
      : world.sessions,
});
