import type { Event, Message, NewEvent } from '#domain';
import type {
  Admission,
  Admitted,
  ClaimedRun,
  FollowUp,
  InstanceId,
  Instant,
  ListQuery,
  Result,
  Run,
  Scope,
  Storage,
  StoredTask,
  TaskId,
  TaskStore,
} from '#store';

import { accepted } from './contract-events.ts';

/** An open store, and the two things a test must be able to do to it from outside the port. */
export interface ContractStore {
  readonly storage: Storage;
  /** Lets the lease of an instance run out now. */
  readonly expire: (instance: InstanceId) => Promise<void>;
  /** The same store, opened by another instance; for stores that several processes may share. */
  readonly neighbour?: Storage;
  close(): Promise<void>;
}

export type OpenContractStore = () => Promise<ContractStore>;

/** A part of the store that no other test knows: its own owner, agent, lanes, instances and clock. */
export interface Corner {
  readonly storage: Storage;
  readonly tasks: TaskStore;
  readonly neighbour: Storage | undefined;
  readonly owner: string;
  readonly tenant: string;
  readonly agent: string;
  readonly scope: Exclude<Scope, 'all'>;
  /** A name that no other test uses. */
  readonly name: (word: string) => string;
  /** A moment later than all before it. */
  later(ms?: number): Instant;
  /** An instance with a lease. */
  instance(word?: string): Promise<InstanceId>;
  readonly expire: (instance: InstanceId) => Promise<void>;
  message(text?: string): Message;
  admission(over?: Partial<Admission>): Admission;
  /** A new task, in the lane `main` unless told otherwise. */
  admit(over?: Partial<Admission>): Promise<Admitted>;
  /** A new task that runs at once, in a lane of its own unless told otherwise. */
  start(instance: InstanceId, over?: Partial<Admission>): Promise<Run>;
  /** A new task that has asked its caller something and waits for the answer, with nothing in its lane. */
  interrupted(instance: InstanceId, over?: Partial<Admission>): Promise<TaskId>;
  follow(id: TaskId, over?: Partial<FollowUp>): Promise<Result<Admitted>>;
  claim(
    instance: InstanceId,
    over?: { readonly free?: number; readonly at?: Instant; readonly ownerRunning?: number },
  ): Promise<readonly ClaimedRun[]>;
  /** The one run that can be claimed. */
  claimOne(instance: InstanceId): Promise<Run>;
  /** Orphans of this corner; other tests may have left some of theirs, which are taken over as well. */
  reap(instance: InstanceId): Promise<readonly ClaimedRun[]>;
  complete(run: Run, release?: boolean): Promise<void>;
  append(run: Run, ...events: readonly NewEvent[]): Promise<readonly Event[]>;
  /** The task, which must be there. */
  task(id: TaskId): Promise<StoredTask>;
  /** All events of a task. */
  log(id: TaskId): Promise<readonly Event[]>;
  list(over?: Partial<ListQuery>, scope?: Scope): ReturnType<TaskStore['list']>;
}

export const NO_LIMITS = { laneWaiting: 9999, ownerWaiting: 0 };

/** Everything that a log can hold, read in one go. */
const WHOLE_LOG = 1_000_000;

export const createCorner = ({ storage, neighbour, expire }: ContractStore, prefix: string): Corner => {
  const { tasks } = storage;
  let clock = Date.UTC(2026, 0, 1);
  let count = 0;
  const name = (word: string): string => `${prefix}-${word}`;
  const later = (ms = 1000): Instant => (clock += ms);
  const next = (word: string): string => name(`${word}-${(count += 1)}`);
  const owner = name('owner');
  const agent = name('agent');
  const tenant = '';
  const scope = { owner, tenant };
  const message = (text = 'hello'): Message => ({ messageId: next('message'), role: 'ROLE_USER', parts: [{ text }] });

  const admission = (over: Partial<Admission> = {}): Admission => ({
    id: next('task'),
    contextId: name('context'),
    owner,
    tenant,
    agent,
    dialect: '1.0',
    session: name('main'),
    direct: false,
    message: message(),
    metadata: {},
    call: {},
    at: later(),
    limits: NO_LIMITS,
    ...over,
  });
  const admit: Corner['admit'] = async (over) => accepted(await tasks.admit(admission(over)));
  const start: Corner['start'] = async (instance, over) => {
    const { run } = await admit({ session: next('lane'), slot: { instance }, ...over });
    if (!run) throw new Error('A turn with a slot and an idle lane did not start.');
    return run;
  };
  const claim: Corner['claim'] = (instance, { free = 1, at = later(), ownerRunning = 0 } = {}) =>
    tasks.claim({ instance, free: { [agent]: free }, at, ownerRunning });

  return {
    storage,
    tasks,
    neighbour,
    owner,
    tenant,
    agent,
    scope,
    name,
    later,
    expire,
    message,
    admission,
    admit,
    start,
    claim,
    instance: async (word = 'instance') => {
      const id = next(word);
      accepted(await tasks.renew(id, 3_600_000));
      return id;
    },
    interrupted: async (instance, over) => {
      const run = await start(instance, over);
      const asked: NewEvent = { kind: 'turn-ended', state: 'input-required' };
      accepted(await tasks.finish(run.token, [asked], later(), true));
      return run.token.taskId;
    },
    follow: (id, over) =>
      tasks.follow({
        scope,
        id,
        message: message(),
        call: {},
        at: later(),
        limits: NO_LIMITS,
        steerable: false,
        ...over,
      }),
    claimOne: async (instance) => {
      const claimed = await claim(instance);
      if (!claimed[0] || claimed.length > 1) throw new Error(`Expected one run to claim, got ${claimed.length}.`);
      return claimed[0].run;
    },
    reap: async (instance) => (await tasks.reap(instance, later())).filter(({ run }) => run.agent === agent),
    complete: async (run, release = true) => {
      accepted(await tasks.finish(run.token, [{ kind: 'turn-ended', state: 'completed' }], later(), release));
    },
    append: async (run, ...events) => accepted(await tasks.append(run.token, events, later())).events,
    task: async (id) => {
      const task = await tasks.find('all', id);
      if (!task) throw new Error(`Task ${id} is not there.`);
      return task;
    },
    log: (id) => tasks.read('all', id, 0, WHOLE_LOG),
    list: (over, listScope = scope) =>
      tasks.list(listScope, { limit: 100, order: 'updated', withArtifacts: true, ...over }),
  };
};
