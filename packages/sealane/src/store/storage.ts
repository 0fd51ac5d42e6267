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
  /** Since when the first of its waiting turns waits. */
  readonly since: Instant | null;
}

export interface LaneStore {
  /** Lanes with something in them, or paused; by key. */
  list(query: {
    readonly agent?: AgentName;
    readonly owner?: string;
    readonly limit: number;
    readonly after?: string;
  }): Promise<readonly LaneView[]>;
  /** A paused lane starts nothing; what runs goes on. False: no such lane. Recorded in the audit in the same step. */
  pause(lane: string, paused: boolean, by: string, at: Instant): Promise<boolean>;
  /** The same for every lane of an agent, now and later. */
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
  /** Which agents it may use; null is all. */
  readonly agents: readonly AgentName[] | null;
  readonly permission: string;
  /** Requests a minute; null is the service's default. */
  readonly ratePerMinute: number | null;
  readonly createdAt: Instant;
  readonly expiresAt: Instant | null;
  readonly revokedAt: Instant | null;
}

export interface KeyStore {
  add(key: KeyRecord): Promise<'added' | 'name-taken'>;
  findByHash(hash: string): Promise<KeyRecord | undefined>;
  list(): Promise<readonly KeyRecord[]>;
  /** False: no such key, or already revoked. */
  revoke(idOrName: string, at: Instant): Promise<boolean>;
}

/** A key that cards are signed with. */
export interface CardKeyRecord {
  readonly kid: string;
  /** The private key as a JWK, in JSON text: a secret. */
  readonly privateJwk: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** Since when another key is in its place; null for the one in use. */
  readonly retiredAt: number | null;
}

/** Where the keys that sign cards are kept, for all instances that serve the same agents. */
export interface CardKeyStore {
  /** All keys, the newest first. At most one is in use. */
  list(): Promise<readonly CardKeyRecord[]>;
  /**
   * Retires `former`, which must be the key in use (null: no key may be in use), and adds `next`, as one atomic step.
   * `lost`: somebody else was faster, and nothing was written.
   */
  replace(former: string | null, next: CardKeyRecord, at: number): Promise<'replaced' | 'lost'>;
  /** Deletes the keys that were retired before that time. */
  forget(retiredBefore: number): Promise<void>;
}

/** Who did what: admin actions, key use, refusals, lane pauses. */
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

/** The webhooks of tasks; each call is `absent` when there is no such task in the scope. */
export interface PushConfigStore {
  /** What is committed after it is owed to it; see `OutboxStore`. `push-full`: the task has as many as it may. */
  save(scope: Scope, taskId: TaskId, webhook: NewWebhook): Promise<Result<null>>;
  /** By id. */
  list(scope: Scope, taskId: TaskId): Promise<Result<readonly PushConfigRecord[]>>;
  /** False: there was none. */
  remove(scope: Scope, taskId: TaskId, id: string): Promise<Result<boolean>>;
  /** The webhook that the target of a follower names, also of a task that was removed meanwhile. */
  at(target: string): Promise<PushConfigRecord | undefined>;
}

export interface StoreCounts {
  /** Turns waiting in lanes and turns held by a run, of all instances. */
  readonly waiting: number;
  readonly running: number;
  readonly oldestWaitingSince: Instant | null;
}

/** A task that has waited for too long: to begin, to be tried again, or for its caller. */
export interface Overdue {
  readonly id: TaskId;
  readonly why: 'queued' | 'retry' | 'interrupted';
}

/** What the janitor and the operator need. */
export interface Upkeep {
  /** Tasks that have waited in a lane, for their next attempt, or for their caller, since before these times. */
  overdue(limits: {
    readonly queuedBefore: Instant;
    readonly interruptedBefore: Instant;
    readonly limit: number;
  }): Promise<readonly Overdue[]>;
  /** Deletes at most `limit` tasks that ended before `endedBefore`, unless something is owed; answers how many. */
  expire(endedBefore: Instant, limit: number): Promise<number>;
  /** Deletes what is left of at most `limit` tasks that were removed before that time, unless something is owed. */
  dropRemoved(removedBefore: Instant, limit: number): Promise<number>;
  /** Deletes the ended tasks of an owner or a context, at most `limit`; answers how many. */
  purge(what: { readonly owner?: string; readonly contextId?: string; readonly limit: number }): Promise<number>;
  counts(): Promise<StoreCounts>;
  /** Writes a consistent copy into a new file while the service runs. Only stores that are one file have it. */
  backup?(file: string): Promise<void>;
  /** Answers quickly whether the store can be written; `undefined` is yes, a text says what is wrong. */
  check(): Promise<string | undefined>;
}

/** Everything the service keeps, behind one connection. `tasks` is the port that a custom store must implement. */
export interface Storage extends AsyncDisposable {
  /** For people: `SQLite, /home/me/.sealane/tasks.db`. */
  readonly description: string;
  /** What was found when it was opened and somebody should know. */
  readonly notices?: readonly string[];
  readonly tasks: TaskStore;
  readonly lanes: LaneStore;
  readonly keys: KeyStore;
  readonly cardKeys: CardKeyStore;
  readonly audit: AuditLog;
  readonly pushConfigs: PushConfigStore;
  readonly outbox: OutboxStore;
  readonly upkeep: Upkeep;
  /** How long commits took, in milliseconds, for the metrics. */
  onCommit(listener: (durationMs: number) => void): Disposable;
  /**
   * Called when the store has failed for good: from then on every call is rejected, and only opening it again helps.
   * Stores that cannot fail like that leave it out.
   */
  onFatal?(listener: (error: Error) => void): Disposable;
  close(): Promise<void>;
}

export type { InstanceId };
