import type { Permission } from '#agents';
import type { Event, JsonObject, Message, Seq, State } from '#domain';
import type { Page, StoredTask, TaskFacts } from '#store';

/** Who calls, as `identity` found out. */
export interface Caller {
  /** The user that tasks belong to. */
  readonly owner: string;
  readonly keyId: string;
  readonly admin: boolean;
  /** Agents it may use; null is all. */
  readonly agents: readonly string[] | null;
  readonly permission: Permission;
  readonly tenant: string;
  /** Only tasks of this agent are in reach: the call came in on `/agents/<name>`. */
  readonly agent?: string;
}

export interface SendRequest {
  readonly message: Message;
  /** The agent to talk to; absent is the default agent. Ignored by follow-ups, which keep their task's agent. */
  readonly agent?: string;
  readonly metadata?: JsonObject;
  readonly dialect: string;
  readonly idempotencyKey?: string;
  /** Hash of what the caller sent, to tell a repeat from a reuse of the key. */
  readonly bodyHash?: string;
  readonly traceparent?: string;
  readonly ancestors?: readonly string[];
  /** Those of the agent's own that the caller has asked for. */
  readonly extensions?: readonly string[];
  /** The media types that the caller can take as an answer; absent: any. */
  readonly outputModes?: readonly string[];
  /** Callers that name their tasks themselves: the task of this id is continued, or made if there is none. */
  readonly givenTaskId?: string;
  /** A webhook, registered with the new task so that it hears of every event. */
  readonly push?: NewPushConfig;
}

/** A task that exists because of a call, or the direct answer to it. */
export type SendOutcome =
  | { readonly kind: 'task'; readonly task: StoredTask }
  | { readonly kind: 'message'; readonly message: Message };

export interface ListRequest {
  readonly contextId?: string;
  readonly states?: readonly State[];
  readonly since?: string;
  readonly limit: number;
  readonly after?: string;
  readonly withArtifacts: boolean;
}

/** A webhook of a task: where its events go, and how its caller wants to be spoken to. */
export interface PushConfig {
  readonly id: string;
  readonly url: string;
  /** Sent back with each delivery, so that the receiver knows it is meant. */
  readonly token?: string;
  readonly authentication?: { readonly scheme: string; readonly credentials?: string };
  /** The protocol version it was registered in; its bodies keep that form. */
  readonly dialect: string;
  /** How its caller names the task, where that is not the task's id. */
  readonly taskName?: string;
}

/** Without an id it gets one; with the id of another of the same task it replaces that. */
export type NewPushConfig = Omit<PushConfig, 'id'> & { readonly id?: string };

/** The webhooks of a caller's tasks. A task of another owner is as unknown here as anywhere. */
export interface PushConfigs {
  save(caller: Caller, taskId: string, config: NewPushConfig): Promise<PushConfig>;
  find(caller: Caller, taskId: string, id: string): Promise<PushConfig | undefined>;
  /** By id. */
  list(caller: Caller, taskId: string): Promise<readonly PushConfig[]>;
  /** Nothing happens if there is none. */
  remove(caller: Caller, taskId: string, id: string): Promise<void>;
}

/** One thing a stream tells its reader. A direct reply is the only item of its stream. */
export type StreamItem =
  | { readonly kind: 'task'; readonly seq: Seq; readonly task: StoredTask }
  | {
      readonly kind: 'event';
      readonly seq: Seq;
      readonly event: Event;
      readonly task: TaskIdentity;
      readonly frames: FrameCache;
    }
  | { readonly kind: 'message'; readonly message: Message };

/** What an event needs to be shown alone. */
export interface TaskIdentity {
  readonly id: string;
  readonly contextId: string;
}

/** An event's encodings by dialect, made once and shared by all its readers. */
export type FrameCache = Map<string, string>;

/**
 * What the service does for a caller: the operations of A2A, free of any wire format. Refusals are `SealaneError`s
 * and leave no trace. Streams are readers of the committed log: leaving one (by `signal`, or by ending the iteration)
 * never stops a task.
 */
export interface TaskService {
  /** Waits until the turn ended or asks something, at most the wait timeout; not at all with `wait: false`. */
  send(
    caller: Caller,
    request: SendRequest,
    options: { readonly wait: boolean; readonly waitMs?: number; readonly signal?: AbortSignal },
  ): Promise<SendOutcome>;
  /**
   * The task first, then its events; ends when the turn ended or asks for input. Refusals are thrown by the returned
   * promise, before there is a stream. With `lastEventId` (a repeated send under its idempotency key) it resumes.
   */
  stream(
    caller: Caller,
    request: SendRequest,
    options?: { readonly lastEventId?: Seq; readonly signal?: AbortSignal },
  ): Promise<AsyncIterable<StreamItem>>;
  get(caller: Caller, id: string): Promise<StoredTask>;
  list(caller: Caller, request: ListRequest): Promise<Page>;
  /** Resolves when the task has ended (or its cancel is under way and the grace period is over). */
  cancel(caller: Caller, id: string): Promise<StoredTask>;
  /** The task, then its events until it ends; with `lastEventId` only the events after it, also of an ended task. */
  subscribe(
    caller: Caller,
    id: string,
    options?: { readonly lastEventId?: Seq; readonly signal?: AbortSignal },
  ): Promise<AsyncIterable<StreamItem>>;
  /** Committed events after `after`: at most `limit`, and fewer when they are large. */
  events(
    caller: Caller,
    id: string,
    after: Seq,
    limit: number,
  ): Promise<{ readonly task: TaskFacts; readonly events: readonly Event[] }>;
  /** Deletes a task. One that is open is canceled first; one that runs is a conflict. */
  remove(caller: Caller, id: string): Promise<void>;
  readonly pushConfigs: PushConfigs;
}
