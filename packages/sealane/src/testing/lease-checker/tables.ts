import type { Table } from './statement.ts';

/**
 * The tables of the lease protocol, with the columns that matter to it. In the store the turn of a task stands in its
 * head, and is changed with it by one statement; here they are two, so that more can happen in between.
 */
export type Lane = { readonly key: string; readonly holder: string | null; readonly waiting: number };
export type Turn = {
  readonly lane: string;
  readonly place: number;
  readonly task: string;
  readonly holder: string | null;
  readonly attempt: number;
};
export type Head = { readonly task: string; readonly seq: number; readonly epoch: number };
export type LogEvent = { readonly task: string; readonly seq: number; readonly kind: EventKind; readonly by: number };
export type TaskRow = { readonly task: string; readonly lane: string; readonly state: State };
/** `ranOut` stands for `lease_until < now()`: the clock sets it, whoever may hold the row. */
export type Instance = { readonly id: string; readonly ranOut: boolean };

export type EndState = 'completed' | 'failed' | 'canceled';
export type State = 'submitted' | 'working' | EndState;
export type EventKind = 'task-admitted' | 'run-started' | 'chunk' | 'run-lost' | 'cancel-requested' | EndState;

export const isOpen = (state: State): boolean => state === 'submitted' || state === 'working';

export const lanes: Table<Lane> = { name: 'lanes', key: ({ key }) => key };
export const turns: Table<Turn> = { name: 'turns', key: ({ lane, place }) => `${lane}.${place}` };
export const heads: Table<Head> = { name: 'heads', key: ({ task }) => task };
export const events: Table<LogEvent> = { name: 'events', key: ({ task, seq }) => `${task}.${seq}` };
export const tasks: Table<TaskRow> = { name: 'tasks', key: ({ task }) => task };
export const instances: Table<Instance> = { name: 'instances', key: ({ id }) => id };

/** What a runner holds in its hand after a claim or a reap. */
export type Run = {
  readonly lane: string;
  readonly task: string;
  readonly epoch: number;
  readonly attempt: number;
  /** The last event it knows of; only the unlocked fence numbers by it. */
  readonly seq: number;
};
