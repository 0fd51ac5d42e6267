import type { Permission } from '#agents';
import type { Event, JsonObject, Message, Seq, State } from '#domain';
import type { Page, StoredTask, TaskFacts } from '#store';

/** The caller, as `identity` has recognised it. */
export interface Caller {
  /** The user that tasks belong to. */
  readonly owner: string;
  readonly keyId: string;
  readonly admin: boolean;
  /** The agents that the caller may use; null is all. */
  readonly agents: readonly string[] | null;
  readonly permission: Permission;
  readonly tenant: string;
  /** The caller reaches only tasks of this agent, because the call came in on `/agents/<name>`. */
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
  /** The extensions of the agent that the caller asked for. */
  readonly extensions?: readonly string[];
  /** The media types that the caller accepts as an answer; absent: any. */
  readonly outputModes?: readonly string[];
  /** Set by callers that name their tasks themselves. Continues the task with this id, or creates it if it is new. */
  readonly givenTaskId?: string;
  /** A webhook, registered in the step that stores the message, so that it misses no event from then on. */
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

/** A webhook of a task: where its events go, and in which form. */
export interface PushConfig {
  readonly id: string;
  readonly url: string;
  /** Sent with each delivery, so that the receiver can check that the delivery is meant for it. */
  readonly token?: string;
  readonly authentication?: { readonly scheme: string; readonly credentials?: string };
  /** The protocol version that the webhook was registered in. Its bodies keep the form of that version. */
  readonly dialect: string;
  /** The caller's name for the task, if that is not the task's id. */
  readonly taskName?: string;
}

/** A webhook without an id gets one. A webhook of the same task that has this id is replaced. */
export type NewPushConfig = Omit<PushConfig, 'id'> & { readonly id?: string };

/** The webhooks of a caller's tasks. A task of another owner is `task-not-found`, as everywhere. */
export interface PushConfigs {
  save(caller: Caller, taskId: string, config: NewPushConfig): Promise<PushConfig>;
  find(caller: Caller, taskId: string, id: string): Promise<PushConfig | undefined>;
  /** Sorted by id. */
  list(caller: Caller, taskId: string): Promise<readonly PushConfig[]>;
  /** Does nothing if there is no such webhook. */
  remove(caller: Caller, taskId: string, id: string): Promise<void>;
}

/** One item of a stream. A direct reply is the only item of its stream. */
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

/** What a client must know of the task to understand a single event. */
export interface TaskIdentity {
  readonly id: string;
  readonly contextId: string;
}

/** The encodings of an event by dialect, made once and shared by all its readers. */
export type FrameCache = Map<string, string>;

/**
 * What the service does for a caller: the operations of A2A, free of any wire format. Refusals are `SealaneError`s
 * and leave no trace. Streams are readers of the committed log: leaving one (by `signal`, or by ending the iteration)
 * never stops a task.
 */
export interface TaskService {
  /**
   * Waits until the turn has ended or asks something, at most for `waitMs`. With `wait: false`, it waits only for a
   * direct reply.
   */
  send(
    caller: Caller,
    request: SendRequest,
    options: { readonly wait: boolean; readonly waitMs?: number; readonly signal?: AbortSignal },
  ): Promise<SendOutcome>;
  /**
   * The task first, then its events. Ends when the task has ended or asks for input. A refusal rejects the returned
   * promise, before there is a stream. With `lastEventId`, a repeated send under the same idempotency key resumes its
   * stream.
   */
  stream(
    caller: Caller,
    request: SendRequest,
    options?: { readonly lastEventId?: Seq; readonly signal?: AbortSignal },
  ): Promise<AsyncIterable<StreamItem>>;
  get(caller: Caller, id: string): Promise<StoredTask>;
  /** The same without the content: costs the same for a short task and for a long one. */
  peek(caller: Caller, id: string): Promise<TaskFacts>;
  list(caller: Caller, request: ListRequest): Promise<Page>;
  /** Resolves when the task has ended, or with the task as it is when the run does not end within the grace period. */
  cancel(caller: Caller, id: string): Promise<StoredTask>;
  /** The task, then its events until the task ends. With `lastEventId`, only later events, also of an ended task. */
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
  /** Deletes a task. An open task is canceled first. A task that a run still holds is refused. */
  remove(caller: Caller, id: string): Promise<void>;
  readonly pushConfigs: PushConfigs;
}
