import type { Event, JsonObject, Message, NewEvent, Seq, State, TaskSnapshot } from '#domain';

import type { Condition } from './condition.ts';
import type { NewFollower } from './follower.ts';
import type { Result } from './result.ts';

export type TaskId = string;
export type InstanceId = string;
export type AgentName = string;
/** Epoch milliseconds. */
export type Instant = number;

/**
 * Whose tasks a call may read or change. Every call on behalf of a caller names a scope. `all` is for the operator and
 * for the engine itself.
 */
export type Scope = { readonly owner: string; readonly tenant: string; readonly agent?: AgentName } | 'all';

/** A task without its content. It costs little to read. A step or a reader looks at it before it loads more. */
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
  /** The caller gets a Message instead of the task. The task is kept for the audit and is not listed. */
  readonly direct: boolean;
  readonly state: State;
  readonly statusAt: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** The number of its last event. */
  readonly seq: Seq;
}

/**
 * A task as it is stored. What clients and agents wrote stays JSON text, so that most answers are spliced together and
 * never parsed.
 */
export interface StoredTask extends TaskFacts {
  /** JSON of a Message, or null. */
  readonly statusMessage: string | null;
  /** JSON arrays and a JSON object. */
  readonly artifacts: string;
  readonly history: string;
  readonly metadata: string;
  /** Set only while a turn of the task waits: how many turns are ahead of it in its lane, and since when it waits. */
  readonly queuePosition?: number;
  readonly queuedAt?: Instant;
}

/** Names a run to the store. Only the holder of the current epoch may write. Only the store interprets the numbers. */
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
  /** How many earlier attempts were ended by a planned stop of their instance. They do not count against a limit. */
  readonly drains: number;
  /** Set only for a reaped run whose former instance gave up its lease in a planned stop. */
  readonly holderLeft?: true;
  readonly message: Message;
  readonly metadata: JsonObject;
  readonly call: CallFacts;
  /** What the previous holder of the run passed to `remember`. */
  readonly ref: JsonObject | undefined;
  /** When the turn took its place in the lane. */
  readonly queuedAt: Instant;
  /** When the first attempt at the turn started. The task timeout counts from here, across attempts. */
  readonly startedAt: Instant;
  readonly cancelRequested: boolean;
  /** The turn has already ended (forced, or finished without a release). Only the run itself may still be alive. */
  readonly ended: boolean;
  /** The number of the last event when the run was claimed. The runner reads the log from here on. */
  readonly seq: Seq;
}

/**
 * Facts about the call that started a turn. The run needs them when it starts, perhaps later and on another instance.
 */
export interface CallFacts {
  readonly traceparent?: string;
  /** The ids of the runs that led to this call. */
  readonly ancestors?: readonly string[];
  readonly permission?: string;
  /** Extensions of A2A that the caller has asked for and the agent declares. */
  readonly extensions?: readonly string[];
  /** The media types that the caller accepts. */
  readonly outputModes?: readonly string[];
  /** The metadata of a follow-up's call, beside its message. */
  readonly metadata?: JsonObject;
}

/**
 * A free slot of the admitting instance. With a slot, the turn starts in the admitting transaction if its lane is idle.
 */
export interface Slot {
  readonly instance: InstanceId;
}

export interface Admission {
  readonly id: TaskId;
  /** The caller chose the id, so another task may have it already. */
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
  /** A webhook that is told every event, from the first one on. */
  readonly push?: NewWebhook;
  /** Followers of the task, from its first event on. */
  readonly followers?: readonly NewFollower[];
  /** The store checks and takes these before it writes anything else. It skips them for a repeat of an admission. */
  readonly conditions?: readonly Condition[];
}

/** A webhook to add to a task. */
export interface NewWebhook {
  /** Replaces the webhook of the same task that has this id. */
  readonly id: string;
  /** JSON of the configuration, as the caller gave it. */
  readonly config: JsonObject;
  /** How many webhooks the task may have. */
  readonly limit: number;
  /**
   * The caller chose no id and may send the same configuration again. The repeat means the webhook that is already
   * there.
   */
  readonly isRepeatable?: boolean;
  /** Kept only for its owner to read: no event is owed to it. */
  readonly isSilent?: boolean;
  /** The outcome of its last delivery. `active` by default. */
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
  /** The connector accepts messages for a live run that has asked nothing. */
  readonly steerable: boolean;
  /** A task of this size or larger accepts no more messages. */
  readonly taskBytes?: number;
  /** A webhook that is told every event, from this message on. */
  readonly push?: NewWebhook;
  /**
   * The store checks and takes these before it writes anything else. It skips them for a message that it already has.
   */
  readonly conditions?: readonly Condition[];
}

export interface Admitted {
  readonly task: StoredTask;
  /** The events of this step, in order; empty when `again`. */
  readonly events: readonly Event[];
  /** Set when the turn started in this transaction: the caller holds the run now. */
  readonly run?: Run;
  /**
   * The store already had the message (same idempotency key, or same messageId and parts in this task) and wrote
   * nothing.
   */
  readonly again: boolean;
}

export interface Appended {
  /** The committed events, numbered. */
  readonly events: readonly Event[];
}

/** What the end of a run wrote. The task is there unless the caller did not want it. */
export interface FinishedRun {
  readonly task?: StoredTask;
  readonly events: readonly Event[];
}

export interface Finished {
  readonly task: StoredTask;
  readonly events: readonly Event[];
}

/**
 * `ended`: no run was working, and the task is canceled now. `asked`: a run is working, and the store keeps the intent.
 */
export type CancelRequest =
  | (Finished & { readonly outcome: 'ended' })
  | { readonly outcome: 'asked'; readonly events: readonly Event[] };

/** What a removal wrote: the end of a task that was open, for its readers and followers. */
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
  /** The last event that the caller has seen. If the task has another last event, nothing is written (`conflict`). */
  readonly seenSeq?: Seq;
}

/**
 * The port to the store. Every call is one atomic step and answers after its durable commit. Every implementation keeps
 * these promises, and the contract suite in `sealane/testing` has a test for each:
 *
 * - events of a task are numbered 1, 2, 3, … by the store, without gap, whichever call writes them;
 * - a lane has at most one held run; its turns start in the order in which they were admitted;
 * - a run writes only under its own epoch: after `reap` gave it a new one, every call of the old holder answers `lost`
 *   and writes nothing;
 * - the first terminal event of a task is its last;
 * - a task whose cancel was asked for while it was open ends canceled, whatever its run reports afterwards;
 * - a task and its number come from one snapshot: a reader that goes on from there misses nothing and sees nothing
 *   twice;
 * - nothing of one scope is visible in another: a foreign task is `absent`.
 */
export interface TaskStore {
  /** True when one process owns the store. Its leases do not expire: they end with the process. */
  readonly exclusive: boolean;

  /** Creates the task, its first event, its turn and its idempotency record. Starts the turn only with a slot. */
  admit(admission: Admission): Promise<Result<Admitted>>;
  /**
   * Takes a message to an existing task: as the next turn of an interrupted task, or into the inbox of its live run.
   */
  follow(followUp: FollowUp): Promise<Result<Admitted>>;
  /** Takes waiting turns whose lanes are idle, at most `free[agent]` of each agent, and counts the attempt. */
  claim(claim: {
    readonly instance: InstanceId;
    readonly free: Readonly<Record<AgentName, number>>;
    readonly at: Instant;
    /** Held runs per owner; 0 is no limit. */
    readonly ownerRunning: number;
  }): Promise<readonly ClaimedRun[]>;
  /**
   * Writes what the run reports while it works. An event that ends the turn or the task is an error: `finish` writes
   * those.
   */
  append(run: RunToken, events: readonly NewEvent[], at: Instant): Promise<Result<Appended>>;
  /** Stores what the connector needs to find the run again. It is durable when the call resolves. */
  remember(run: RunToken, ref: JsonObject): Promise<Result<null>>;
  /** Ends the turn and folds the task. With `release`, the same step frees the lane. */
  finish(
    run: RunToken,
    events: readonly NewEvent[],
    at: Instant,
    release: boolean,
    /** False: nobody waits for the task, which may be large, so it is left out of the answer. */
    isAwaited?: boolean,
  ): Promise<Result<FinishedRun>>;
  /**
   * The run is dead. Frees the lane of a turn that has ended; with `retryAt`, puts the turn back at the head of its
   * lane. `unfinished`: the turn has not ended and the call names no `retryAt`, so no instance would ever find the turn
   * again. `isDrain`: a planned stop has ended this attempt, so the turn counts one more of `drains`.
   */
  release(run: RunToken, at: Instant, retryAt?: Instant, isDrain?: boolean): Promise<Result<null>>;
  /**
   * Queued or interrupted: the task is canceled now. Running: the store writes an intent that the runner reads. Again:
   * the same answer.
   */
  requestCancel(scope: Scope, id: TaskId, by: string, at: Instant): Promise<Result<CancelRequest>>;
  /** Ends a task from outside its run, if its state is one of `from`. A held run stays held. For deadlines. */
  force(id: TaskId, from: readonly State[], event: NewEvent, at: Instant): Promise<Result<Finished>>;

  /** Takes out or prolongs the lease of the instance. `lost`: the lease has expired; it is never revived. */
  renew(instance: InstanceId, leaseMs: number): Promise<Result<null>>;
  /** Ends the lease of the instance. Other instances can reap the runs that it still holds at once. */
  leave(instance: InstanceId): Promise<void>;
  /**
   * Takes over the runs of instances that have lost their lease: `instance` holds them now, under a new epoch. With
   * `mine`, it also takes over runs that `instance` holds without knowing, for example because the answer to a claim
   * was lost.
   */
  reap(instance: InstanceId, at: Instant, mine?: OwnRuns): Promise<readonly ClaimedRun[]>;
  /**
   * The tasks of those runs of `instance` that have a cancel intent or whose turn has ended. Callers poll this as a
   * fallback for lost hints.
   */
  interventions(instance: InstanceId): Promise<readonly TaskId[]>;

  find(scope: Scope, id: TaskId): Promise<StoredTask | undefined>;
  /** The same without the content. It costs the same for a short task and for a long one. */
  peek(scope: Scope, id: TaskId): Promise<TaskFacts | undefined>;
  read(scope: Scope, id: TaskId, after: Seq, limit: number): Promise<readonly Event[]>;
  list(scope: Scope, query: ListQuery): Promise<Page>;

  /** Writes a whole task as one event, for the views. `busy`: the task has a waiting or running turn. */
  put(put: PutTask): Promise<Result<StoredTask>>;
  /**
   * Deletes a task. `busy`: a run of it is held. An open task is canceled first, by an event like any other, so that
   * its readers and followers hear of it. From then on no call finds the task, and its id is free. Its rows are deleted
   * when nothing is owed to its followers any more.
   */
  remove(scope: Scope, id: TaskId, at: Instant): Promise<Result<Removed>>;

  /**
   * Calls the listener after commits: with ids when another instance has written events of these tasks, without ids
   * when some lane may be ready. A call is only a hint, and hints may be lost.
   */
  onWake(listener: (ids: readonly TaskId[]) => void): Disposable;
}

/** The runs that an instance knows. A run that it has held since before `heldBefore` and does not know is a stray. */
export interface OwnRuns {
  readonly known: readonly TaskId[];
  readonly heldBefore: Instant;
}

/** A claimed or reaped run, with the events that the claim wrote. */
export interface ClaimedRun {
  readonly run: Run;
  readonly events: readonly Event[];
}
