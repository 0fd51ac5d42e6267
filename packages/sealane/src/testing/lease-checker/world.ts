import { memoise } from './memoise.ts';
import { withWrites } from './row-store.ts';
import type { Mind, Scenario } from './scenario.ts';
import type { Session } from './session.ts';
import { addressOf } from './statement.ts';
import type { Rows, Table } from './statement.ts';
import { events, heads, instances, lanes, tasks, turns } from './tables.ts';

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
      stage: 'claimed',
      orphans: [],
      cancels: role === 'caller' ? scenario.cancels : [],
    })),
    minds: Object.fromEntries(scenario.sessions.map(({ instance }) => [instance, 'awake'])),
    unharmed: Object.keys(scenario.faults),
  };
};

/** An instance that stops, stops all of its sessions: they forget their runs, whatever is still on its way. */
export const withMind = (scenario: Scenario, world: World, instance: string, mind: Mind): World => {
  if (world.minds[instance] === mind) return world;
  const next = { ...world, minds: { ...world.minds, [instance]: mind } };
  if (mind !== 'stopped' && mind !== 'dead') return next;
  const sessions = world.sessions.map((session, index) =>
    scenario.sessions[index]?.instance === instance ? forgetful(session) : session,
  );
  return { ...next, sessions };
};

const forgetful = memoise((session: Session): Session => ({ ...session, run: null, stage: 'claimed', orphans: [] }));
