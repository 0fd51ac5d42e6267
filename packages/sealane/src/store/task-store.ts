import type { Event, JsonObject, Message, NewEvent, Seq, State, TaskSnapshot } from '#domain';

import type { Condition } from './condition.ts';
import type { NewFollower } from './follower.ts';
import type { Result } from './result.ts';

export type TaskId = string;
export type InstanceId = string;
export type AgentName = string;
/** Epoch milliseconds. */
export type Instant = number;

/** Whose tasks a call may touch. There is no call without a scope; `all` is for the operator and the engine itself. */
export type Scope = { readonly owner: string; readonly tenant: string; readonly agent?: AgentName } | 'all';

/** A task without its content: what a step or a reader needs to know of it before it looks further. Costs little. */
export interface TaskFacts {
  readonly id: TaskId;
  readonly contextId: string;
  readonly owner: string;
  readonly tenant: string;
  readonly agent: AgentName;
  /** The protocol version that the task was made in: `1.0`, `0.3`, `0.1`. */
  readonly dialect: string;
  /** The session key of its lane. */
  readonly lane: string;
  /** The answer is a Message: kept for the audit, not listed. */
  readonly direct: boolean;
  readonly state: State;
  readonly statusAt: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** The number of its last event. */
  readonly seq: Seq;
}

/**
 * A task as it is stored. The parts that clients wrote stay JSON text, so that the common answer is spliced together
 * and never parsed.
 */
export interface StoredTask extends TaskFacts {
  /** JSON of a Message, or null. */
  readonly statusMessage: string | null;
  /** JSON arrays and a JSON object. */
  readonly artifacts: string;
  readonly history: string;
  readonly metadata: string;
  /** Only while a turn of it waits: turns ahead in its lane, and since when. */
  readonly queuePosition?: number;
  readonly queuedAt?: Instant;
}

/** Names a run to the store: only the holder of the current epoch may write. Opaque to everybody else. */
export interface RunToken {
  readonly taskId: TaskId;
  /** The store's own short keys of task and lane. */
  readonly task: number;
  readonly lane: number;
  readonly epoch: number;
}

/** A run that this instance holds. */
export interface Run {
  readonly token: RunToken;
  readonly contextId: string;
  readonly owner: string;
  readonly tenant: string;
  readonly agent: AgentName;
  /** The session key. */
  readonly session: string;
  readonly turn: number;
  /** Counts the attempts at the turn from 1. */
  readonly attempt: number;
  /** How many earlier attempts were ended by a planned stop of their instance. These do not count against a limit. */
  readonly drains: number;
  /** Only of a reaped run: the instance that held it gave up its lease, by a planned stop. */
  readonly holderLeft?: true;
  readonly message: Message;
  readonly metadata: JsonObject;
  readonly call: CallFacts;
  /** What an earlier attempt remembered. */
  readonly ref: JsonObject | undefined;
  /** When the turn took its place in the lane. */
  readonly queuedAt: Instant;
  /** When the turn's first attempt started: the task timeout runs across attempts. */
  readonly startedAt: Instant;
  readonly cancelRequested: boolean;
  /** The task has already ended (forced, or finished without a release): only the run itself may still live. */
  readonly ended: boolean;
  /** The number of the last event when the run was claimed; the runner follows the log from here. */
  readonly seq: Seq;
}

/** Facts about the call that started a turn, needed again when it runs, perhaps elsewhere and later. */
export interface CallFacts {
  readonly traceparent?: string;
  /** The runs that led to this call. */
  readonly ancestors?: readonly string[];
  readonly permission?: string;
  /** Extensions of A2A that the caller has asked for and the agent declares. */
  readonly extensions?: readonly string[];
  /** The media types that the caller can take. */
  readonly outputModes?: readonly string[];
  /** What came with a follow-up, beside its message. */
  readonly metadata?: JsonObject;
}

/** A free slot of the admitting instance: the turn starts in the admitting transaction if its lane is idle. */
export interface Slot {
  readonly instance: InstanceId;
}

export interface Admission {
  readonly id: TaskId;
  /** The caller chose the id, so it may be taken. */
  readonly isIdGiven?: boolean;
  readonly contextId: string;
  readonly owner: string;
  readonly tenant: string;
  readonly agent: AgentName;
  readonly dialect: string;
  readonly session: string;
  readonly direct: boolean;
  readonly message: Message;
  readonly metadata: JsonObject;
  readonly call: CallFacts;
  readonly at: Instant;
  readonly slot?: Slot;
  readonly limits: QueueLimits;
  readonly idempotency?: { readonly key: string; readonly bodyHash: string };
  /** Hears of everything from the first event on. */
  readonly push?: NewWebhook;
  /** Follow the task from its first event on. */
  readonly followers?: readonly NewFollower[];
  /** Checked and taken before anything else is written; a repeat of an admission skips them. */
  readonly conditions?: readonly Condition[];
}

/** A webhook that a task is to have. */
export interface NewWebhook {
  /** With the id of another of the same task it replaces that. */
  readonly id: string;
  /** JSON of the configuration, as the caller gave it. */
  readonly config: JsonObject;
  /** How many the task may have. */
  readonly limit: number;
  /** Its caller chose no id and may say the same again: then it is the one that is there. */
  readonly isRepeatable?: boolean;
  /** Kept for its owner's own use: nothing is owed to it. */
  readonly isSilent?: boolean;
  /** What became of its last delivery; `active` unless its owner says something else. */
  readonly status?: 'active' | 'failed';
}

export interface QueueLimits {
  /** Waiting turns per lane. */
  readonly laneWaiting: number;
  /** Waiting turns per owner; 0 is no limit. */
  readonly ownerWaiting: number;
}

export interface FollowUp {
  readonly scope: Scope;
  readonly id: TaskId;
  readonly message: Message;
  readonly call: CallFacts;
  readonly at: Instant;
  readonly slot?: Slot;
  readonly limits: QueueLimits;
  /** The connector takes messages for a live run that did not ask. */
  readonly steerable: boolean;
  /** A task that is as long takes no more messages. */
  readonly taskBytes?: number;
  /** Hears of everything from this message on. */
  readonly push?: NewWebhook;
  /** Checked and taken before anything else is written; a message that is known already skips them. */
  readonly conditions?: readonly Condition[];
}

export interface Admitted {
  readonly task: StoredTask;
  /** The events of this step, in order; empty when `again`. */
  readonly events: readonly Event[];
  /** Set when the turn started in this transaction: the caller holds the run now. */
  readonly run?: Run;
  /** The message was known already (same idempotency key, or same messageId and parts in this task): nothing was written. */
  readonly again: boolean;
}

export interface Appended {
  /** The committed events, numbered. */
  readonly events: readonly Event[];
}

export interface Finished {
  readonly task: StoredTask;
  readonly events: readonly Event[];
}

/** `ended`: nothing ran, the task is canceled. `asked`: its run has been told. */
export type CancelRequest =
  | (Finished & { readonly outcome: 'ended' })
  | { readonly outcome: 'asked'; readonly events: readonly Event[] };

/** What a removal wrote: the end of a task that was open, for those who read or follow it. */
export interface Removed {
  readonly ended?: Finished;
}

export interface ListQuery {
  readonly contextId?: string;
  readonly states?: readonly State[];
  readonly agent?: AgentName;
  readonly owner?: string;
  /** Only tasks whose status is of this time or later (ISO). */
  readonly since?: string;
  readonly limit: number;
  /** What the previous page returned as `next`. */
  readonly after?: string;
  /** `updated`: newest status first. `inserted`: oldest task first. */
  readonly order: 'updated' | 'inserted';
  readonly withArtifacts: boolean;
}

export interface Page {
  readonly tasks: readonly StoredTask[];
  /** Absent on the last page. */
  readonly next?: string;
  /** All matches; exact up to `COUNT_LIMIT`, and `COUNT_LIMIT + 1` means "more". */
  readonly total: number;
}

/** How far `Page.total` counts. */
export const COUNT_LIMIT = 10_000;

export interface PutTask {
  readonly id: TaskId;
  readonly contextId: string;
  readonly owner: string;
  readonly tenant: string;
  readonly agent: AgentName;
  readonly snapshot: TaskSnapshot;
  readonly at: Instant;
  /** `create`: only when absent. `replace`: only when present. `upsert`: either. */
  readonly mode: 'create' | 'replace' | 'upsert';
  /** The task as the caller saw it last: if anything has happened to it since, nothing is written (`conflict`). */
  readonly seenSeq?: Seq;
}

/**
 * The port to the store. Every call is one atomic step and answers after its durable commit. The promises that every
 * implementation keeps (the contract suite in `sealane/testing` has a test for each):
 *
 * - events of a task are numbered 1, 2, 3, … by the store, without gap, whoever writes them;
 * - a lane has at most one held run; its turns start in the order in which they were admitted;
 * - a run writes only under its own epoch: after `reap` gave it a new one, every call of the old holder answers `lost`
 *   and writes nothing;
 * - the first terminal event of a task is its last;
 * - a task whose cancel was asked for while it was open ends canceled, whatever its run reports afterwards;
 * - a task and its number come from one snapshot, so a reader that goes on from there misses nothing and sees nothing
 *   twice;
 * - nothing of one scope is visible in another: a foreign task is `absent`.
 */
export interface TaskStore {
  /** True when one process owns the store, so that leases end with the process and not with time. */
  readonly exclusive: boolean;

  /** Creates the task, its first event, its turn and its idempotency record. Starts the turn only with a slot. */
  admit(admission: Admission): Promise<Result<Admitted>>;
  /** The next turn of an interrupted task, or a message for the inbox of its live run. */
  follow(followUp: FollowUp): Promise<Result<Admitted>>;
  /** Takes waiting turns whose lanes are idle, at most `free[agent]` of each agent; counts the attempt. */
  claim(claim: {
    readonly instance: InstanceId;
    readonly free: Readonly<Record<AgentName, number>>;
    readonly at: Instant;
    /** Held runs per owner; 0 is no limit. */
    readonly ownerRunning: number;
  }): Promise<readonly ClaimedRun[]>;
  /** What the run says while it works. An event that ends the turn or the task is an error: that is for `finish`. */
  append(run: RunToken, events: readonly NewEvent[], at: Instant): Promise<Result<Appended>>;
  /** What the connector needs to find the run again; durable when it resolves. */
  remember(run: RunToken, ref: JsonObject): Promise<Result<null>>;
  /** Ends the turn and folds the task. With `release` the lane goes on in the same step. */
  finish(run: RunToken, events: readonly NewEvent[], at: Instant, release: boolean): Promise<Result<Finished>>;
  /**
   * The run is dead: frees the lane of a turn that has ended, or with `retryAt` puts the turn back at the head of its
   * lane. `unfinished`: neither an end nor a time to try again, so that nobody would ever find the turn. `isDrain`: a
   * planned stop has ended this attempt, and the turn counts one more of `drains`.
   */
  release(run: RunToken, at: Instant, retryAt?: Instant, isDrain?: boolean): Promise<Result<null>>;
  /** Queued or interrupted: canceled now. Running: an intent that its runner reads. Again: the same answer. */
  requestCancel(scope: Scope, id: TaskId, by: string, at: Instant): Promise<Result<CancelRequest>>;
  /** Ends a task from outside its run, if its state is one of `from`; a held run stays held. For deadlines. */
  force(id: TaskId, from: readonly State[], event: NewEvent, at: Instant): Promise<Result<Finished>>;

  /** Takes out or prolongs the instance's lease; `lost` when it has expired: it is never revived. */
  renew(instance: InstanceId, leaseMs: number): Promise<Result<null>>;
  /** Ends the lease: what it still holds can be reaped at once. */
  leave(instance: InstanceId): Promise<void>;
  /**
   * Runs whose instance has lost its lease, now held by `instance` under a new epoch. With `mine`, also runs that
   * `instance` holds and does not know of, because the answer that gave them to it was lost.
   */
  reap(instance: InstanceId, at: Instant, mine?: OwnRuns): Promise<readonly ClaimedRun[]>;
  /** Of the runs that `instance` holds, those with a cancel intent, or whose task has ended. Behind a lost wake. */
  interventions(instance: InstanceId): Promise<readonly TaskId[]>;

  find(scope: Scope, id: TaskId): Promise<StoredTask | undefined>;
  /** The same without the content; costs the same for a short task and for a long one. */
  peek(scope: Scope, id: TaskId): Promise<TaskFacts | undefined>;
  read(scope: Scope, id: TaskId, after: Seq, limit: number): Promise<readonly Event[]>;
  list(scope: Scope, query: ListQuery): Promise<Page>;

  /** Writes a whole task as one event, for the views; a task with a waiting or running turn is `busy`. */
  put(put: PutTask): Promise<Result<StoredTask>>;
  /**
   * Deletes a task; `busy` while a run of it lives. One that is open is canceled first, by an event like any other, so
   * that its readers and followers hear of it. From then on nobody finds it, and its id is free; its rows go when
   * nothing is owed to its followers any more.
   */
  remove(scope: Scope, id: TaskId, at: Instant): Promise<Result<Removed>>;

  /**
   * Called after commits: with ids when another instance has written events of these tasks, without ids when some
   * lane may be ready. A hint; may be lost.
   */
  onWake(listener: (ids: readonly TaskId[]) => void): Disposable;
}

/** The runs an instance knows of; what it holds since before `heldBefore` and is not among them is a stray. */
export interface OwnRuns {
  readonly known: readonly TaskId[];
  readonly heldBefore: Instant;
}

/** A claimed or reaped run, with the events its claim wrote. */
export interface ClaimedRun {
  readonly run: Run;
  readonly events: readonly Event[];
}
