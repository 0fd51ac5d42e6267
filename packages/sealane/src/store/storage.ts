import type { JsonObject } from '#domain';

import type { OutboxStore } from './outbox-store.ts';
import type { Result } from './result.ts';
import type { AgentName, InstanceId, Instant, NewWebhook, Scope, TaskId, TaskStore } from './task-store.ts';

/** A lane as the operator sees it. */
export interface LaneView {
  readonly key: string;
  readonly agent: AgentName;
  readonly owner: string;
  readonly waiting: number;
  readonly running: TaskId | null;
  readonly paused: boolean;
  /** Since when the first of its waiting turns has waited. */
  readonly since: Instant | null;
}

export interface LaneStore {
  /** Lanes that hold turns, and paused lanes, sorted by key. */
  list(query: {
    readonly agent?: AgentName;
    readonly owner?: string;
    readonly limit: number;
    readonly after?: string;
  }): Promise<readonly LaneView[]>;
  /**
   * Pauses or resumes a lane. A paused lane starts nothing; its run goes on. False: no such lane. The same step writes
   * the audit.
   */
  pause(lane: string, paused: boolean, by: string, at: Instant): Promise<boolean>;
  /** The same for every lane of an agent, those of later turns included. */
  pauseAgent(agent: AgentName, paused: boolean, by: string, at: Instant): Promise<void>;
  pausedAgents(): Promise<readonly AgentName[]>;
}

/** An API key; the secret itself is never stored. */
export interface KeyRecord {
  readonly id: string;
  readonly name: string;
  readonly owner: string;
  readonly hash: string;
  readonly admin: boolean;
  /** The agents that the key may use; null is all. */
  readonly agents: readonly AgentName[] | null;
  readonly permission: string;
  /** Requests per minute; null is the default of the service. */
  readonly ratePerMinute: number | null;
  readonly createdAt: Instant;
  readonly expiresAt: Instant | null;
  readonly revokedAt: Instant | null;
}

export interface KeyStore {
  add(key: KeyRecord): Promise<'added' | 'name-taken'>;
  findByHash(hash: string): Promise<KeyRecord | undefined>;
  list(): Promise<readonly KeyRecord[]>;
  /** False: there is no such key, or it is already revoked. */
  revoke(idOrName: string, at: Instant): Promise<boolean>;
}

/** A key that cards are signed with. */
export interface CardKeyRecord {
  readonly kid: string;
  /** The private key as a JWK, in JSON text: a secret. */
  readonly privateJwk: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** When another key replaced this one; null for the key in use. */
  readonly retiredAt: number | null;
}

/** Keeps the keys that sign cards, for all instances that serve the same agents. */
export interface CardKeyStore {
  /** All keys, newest first. At most one is in use. */
  list(): Promise<readonly CardKeyRecord[]>;
  /**
   * Retires `former`, which must be the key in use (null: no key may be in use), and adds `next`, in one atomic step.
   * `lost`: another instance won the race, and nothing was written.
   */
  replace(former: string | null, next: CardKeyRecord, at: number): Promise<'replaced' | 'lost'>;
  /** Deletes the keys that were retired before that time. */
  forget(retiredBefore: number): Promise<void>;
}

/** One entry of the audit, such as an admin action, a refused key or a paused lane: who did what, and when. */
export interface AuditEvent {
  readonly at: Instant;
  readonly kind: string;
  readonly actor: string;
  readonly subject: string;
  readonly facts: JsonObject;
}

export interface AuditLog {
  record(event: AuditEvent): Promise<void>;
  /** Newest first. */
  list(query: {
    readonly subject?: string;
    readonly kind?: string;
    readonly limit: number;
  }): Promise<readonly AuditEvent[]>;
}

/** A webhook of a task. */
export interface PushConfigRecord {
  readonly taskId: TaskId;
  readonly id: string;
  /** JSON of the configuration, as the caller gave it. */
  readonly config: JsonObject;
  /** `failed` while its last delivery failed. */
  readonly status: 'active' | 'failed';
}

/** The webhooks of tasks. A call is `absent` when the scope has no such task. */
export interface PushConfigStore {
  /**
   * Owes to the webhook all events that are committed later; see `OutboxStore`. `push-full`: the task has its maximum
   * of webhooks.
   */
  save(scope: Scope, taskId: TaskId, webhook: NewWebhook): Promise<Result<null>>;
  /** Sorted by id. */
  list(scope: Scope, taskId: TaskId): Promise<Result<readonly PushConfigRecord[]>>;
  /** False: there was no such webhook. */
  remove(scope: Scope, taskId: TaskId, id: string): Promise<Result<boolean>>;
  /** The webhook that the target of a follower names, even if its task was removed in the meantime. */
  at(target: string): Promise<PushConfigRecord | undefined>;
}

export interface StoreCounts {
  /** Turns that wait in lanes and turns that a run holds, of all instances. */
  readonly waiting: number;
  readonly running: number;
  readonly oldestWaitingSince: Instant | null;
}

/** A task that has waited too long: to begin, for its retry, or for its caller. */
export interface Overdue {
  readonly id: TaskId;
  readonly why: 'queued' | 'retry' | 'interrupted';
}

/** What the janitor and the operator need. */
export interface Upkeep {
  /** Tasks that have waited since before these times: in a lane, for their retry, or for their caller. */
  overdue(limits: {
    readonly queuedBefore: Instant;
    readonly interruptedBefore: Instant;
    readonly limit: number;
  }): Promise<readonly Overdue[]>;
  /** Deletes at most `limit` tasks that ended before `endedBefore`, unless something is owed. Answers how many. */
  expire(endedBefore: Instant, limit: number): Promise<number>;
  /** Deletes the rows of at most `limit` tasks that were removed before that time, unless something is owed. */
  dropRemoved(removedBefore: Instant, limit: number): Promise<number>;
  /** Deletes at most `limit` ended tasks of an owner or a context. Answers how many. */
  purge(what: { readonly owner?: string; readonly contextId?: string; readonly limit: number }): Promise<number>;
  counts(): Promise<StoreCounts>;
  /** Writes a consistent copy into a new file while the service runs. Only stores that are one file have this. */
  backup?(file: string): Promise<void>;
  /** Answers quickly whether the store can be written. `undefined`: it can. A text says what is wrong. */
  check(): Promise<string | undefined>;
}

/** Everything the service keeps, behind one connection. `tasks` is the port that a custom store must implement. */
export interface Storage extends AsyncDisposable {
  /** For people: `SQLite, /home/me/.sealane/tasks.db`. */
  readonly description: string;
  /** What the store found when it was opened and the operator should know. */
  readonly notices?: readonly string[];
  readonly tasks: TaskStore;
  readonly lanes: LaneStore;
  readonly keys: KeyStore;
  readonly cardKeys: CardKeyStore;
  readonly audit: AuditLog;
  readonly pushConfigs: PushConfigStore;
  readonly outbox: OutboxStore;
  readonly upkeep: Upkeep;
  /** Tells the listener how long each commit took, for the metrics. */
  onCommit(listener: (durationMs: number) => void): Disposable;
  /**
   * Calls the listener when the store has failed for good: it rejects every call until it is opened again. Stores that
   * cannot fail for good leave this out.
   */
  onFatal?(listener: (error: Error) => void): Disposable;
  close(): Promise<void>;
}

export type { InstanceId };
